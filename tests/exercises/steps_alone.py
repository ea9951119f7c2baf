"""A solution of which only the first steps are written, as a student has it on the way."""

from __future__ import annotations

import re

from grader.course.starters import starter_text

_REGION = re.compile(r"^ *// BEGIN SOLUTION +TODO (\d+).*?^ *// END SOLUTION\n", re.DOTALL | re.MULTILINE)


def written_up_to(step: int, solution: str) -> str:
    """Every region for a later step is the starter's."""

    def of_student(region: re.Match[str]) -> str:
        return region[0] if int(region[1]) <= step else starter_text(region[0])

    return _REGION.sub(of_student, solution)
