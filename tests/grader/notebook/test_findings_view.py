"""A notebook shows causes at their lines, and what follows from each folded below it."""

from __future__ import annotations

from common.virtual_gpu.finding import Finding, Place
from grader.notebook.views.findings_view import findings_by_cause

SOURCE = "\n".join(f"line {number} of the kernel" for number in range(1, 100))


def race(line: int, other: int) -> Finding:
    places = [(Place("kernel.cu", number),) for number in (line, other)]
    return Finding(
        "race", f"a race at {line}", "RaceWithWrite", advice="a barrier", place=places[0], other=places[1]
    )


def test_effects_are_folded_with_all_that_is_known_of_them():
    shown = str(findings_by_cause([race(41, 20), race(43, 20), race(90, 80)], SOURCE, 10))
    first, _, rest = shown.partition("<details>")
    folded, _, second = rest.partition("</details>")
    assert "a race at 41" in first
    assert "1 more finding follows from it: race at kernel.cu:43." in folded
    assert "a race at 43" in folded
    assert "line 43 of the kernel" in folded
    assert "a race at 90" in second
    assert "<details>" not in second


def test_nothing_is_shown_of_no_findings():
    assert findings_by_cause([], SOURCE, 10) is None
