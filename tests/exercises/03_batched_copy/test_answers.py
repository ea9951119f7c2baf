"""What exercise 03's reality check concludes from a measurement, and how answers to it are graded."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from grader.spec import registry

EXERCISE = registry.find("03")
answers = importlib.import_module("exercise_03_batched_copy.answers")
SCRIPT = EXERCISE.folder / "reality_check.py"

# Launches of 1 us each, 2 us for one copy of little; 1,000,000 bytes a us beyond that.
MEASUREMENT: dict[str, Any] = {
    "copies": 7,
    "rows": [
        {"elements": 1, "bytes": 28, "separate_us": 8.0, "one_us": 2.0},
        {"elements": 10**6, "bytes": 28 * 10**6, "separate_us": 36.0, "one_us": 30.0},
        {"elements": 2 * 10**6, "bytes": 56 * 10**6, "separate_us": 64.0, "one_us": 58.0},
    ],
    "step": {"copies": 7, "bytes": 270_000, "separate_us": 8.0, "one_us": 2.2},
    "step_us": 1000.0,
    "worth_share": 0.005,
}
RIGHT = {
    "launch_us": 1.0,
    "overhead_share": 0.75,
    "predicted_speedup": 4.0,
    "break_even_bytes": 6_000_000,
    "decision": "fuse",
}


def earned(given: dict, measurement: dict = MEASUREMENT) -> dict[str, float]:
    return {line.name: line.points for line in answers.grade_answers(given, measurement)}


def test_right_answers_earn_everything() -> None:
    graded = answers.grade_answers(RIGHT, MEASUREMENT)
    assert all(line.points == line.max_points for line in graded)
    assert sum(line.max_points for line in graded) == 10


@pytest.mark.parametrize(
    ("error", "credit"), [(0.05, 2), (-0.09, 2), (0.2, 1), (-0.25, 1), (0.4, 0), (-0.5, 0)]
)
@pytest.mark.parametrize("name", [name for name in RIGHT if name != "decision"])
def test_a_number_earns_by_how_near_it_is(name: str, error: float, credit: float) -> None:
    given = RIGHT | {name: RIGHT[name] * (1 + error)}  # type: ignore[operator]
    assert earned(given)[name] == credit


@pytest.mark.parametrize("given", [{}, dict.fromkeys(RIGHT, "?"), dict.fromkeys(RIGHT, float("nan"))])
def test_no_answer_earns_nothing_and_is_told_what_was_wanted(given: dict) -> None:
    graded = answers.grade_answers(given, MEASUREMENT)
    assert sum(line.points for line in graded) == 0
    assert all("must be" in line.reason for line in graded)


def test_the_decision_follows_from_the_step() -> None:
    long_step = MEASUREMENT | {"step_us": 20_000.0}
    assert earned(RIGHT, long_step)["decision"] == 0
    assert earned(RIGHT | {"decision": "leave"}, long_step)["decision"] == 2
    assert earned(RIGHT | {"decision": "leave"})["decision"] == 0


def test_a_saving_on_the_line_allows_either_decision() -> None:
    on_the_line = MEASUREMENT | {"step_us": 1180.0}  # 5.9 us, where 6 are saved
    for decision in answers.DECISIONS:
        assert earned(RIGHT | {"decision": decision}, on_the_line)["decision"] == 2


def test_a_decision_that_follows_from_a_wrong_number_of_ones_own_earns_half() -> None:
    assert earned(RIGHT | {"launch_us": 0.1, "decision": "leave"})["decision"] == 1


@pytest.mark.parametrize(
    "measurement",
    [{}, MEASUREMENT | {"rows": []}, MEASUREMENT | {"rows": [MEASUREMENT["rows"][0]] * 2}, {"rows": 3}],
)
def test_a_measurement_that_says_nothing_earns_nothing(measurement: dict) -> None:
    graded = answers.grade_answers(RIGHT, measurement)
    assert [line.name for line in graded] == list(RIGHT)
    assert all(line.points == 0 and "again" in line.reason for line in graded)


def test_the_template_names_every_answer() -> None:
    template = tomllib.loads((EXERCISE.folder / "answers.toml").read_text())
    assert list(template) == list(RIGHT)


def test_the_reality_check_runs_on_the_virtual_gpu_and_grades_what_follows_from_it(tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        command = [sys.executable, str(SCRIPT), *arguments]
        return subprocess.run(
            command, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=300
        ).stdout

    printed = run("--device", "virtual")
    assert "modelled" in printed
    assert "step_us, the whole step of which these copies are a part: taken to be 1,000 us" in printed
    measured = json.loads((tmp_path / "measurement.json").read_text())
    assert measured["modelled"] is True
    first, *_, last = (row["separate_us"] / row["one_us"] for row in measured["rows"])
    assert first > last > 1  # launches matter less the more there is to copy
    numbers = {question.name: question.right(measured) for question in answers.QUESTIONS}
    lines = [f"{name} = {value}" for name, value in numbers.items()]
    decision = answers.decision(answers.saved_us(measured), measured)
    (tmp_path / "answers.toml").write_text("\n".join([*lines, f'decision = "{decision}"']))
    assert "together           10 of 10" in run("--grade", "answers.toml")
