"""Reads what reality_check.py grades: answers.toml, written by hand, and measurement.json.

Either may hold anything at all. Whatever is in the way is told in one sentence: the file, its line where that
is known, what was expected and what to try.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from grader.questions.answer_files import parse_toml, read_text

from .answers import fits_a_float, problem_of

_FORM = 'write each answer as `launch_us = 0.75` or `decision = "fuse"`, with a digit before the point'
_COPY = "copy answers.toml from exercises/03_batched_copy and fill it in"
_MEASURE = "run reality_check.py without --grade, which writes a whole one"


def read_answers(path: Path) -> dict[str, Any]:
    text = read_text(path, _COPY)
    answers = parse_toml(text, path, _FORM)
    for name, value in answers.items():
        if isinstance(value, int) and not fits_a_float(value):
            where = f"{path}:{_line_of(name, text)}"
            raise CourseError(
                f"{where}: {name} has more digits than a number of microseconds or bytes can: {_FORM}"
            )
    return answers


def read_measurement(path: Path) -> dict[str, Any]:
    text = read_text(path, _MEASURE)
    try:
        measurement = json.loads(text)
    except json.JSONDecodeError as problem:
        raise CourseError(
            f"{path}:{problem.lineno}:{problem.colno}: this is not JSON ({problem.msg}): {_MEASURE}"
        ) from problem
    except (ValueError, RecursionError) as problem:
        raise CourseError(f"{path}: this is more than a measurement can be: {_MEASURE}") from problem
    if told := problem_of(measurement):
        raise CourseError(f"{path}: {told}: {_MEASURE}")
    return dict(measurement)


def _line_of(name: str, text: str) -> int:
    """Where an answer stands; the first line for a name that is written in an unusual way."""
    found = re.search(rf"^\s*[\"']?{re.escape(name)}[\"']?\s*=", text, re.MULTILINE)
    return text.count("\n", 0, found.end()) + 1 if found else 1
