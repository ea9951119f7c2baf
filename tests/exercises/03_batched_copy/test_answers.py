"""What exercise 03 concludes from a measurement, and what answers to it earn."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from grader import cli
from grader.questions.sheets import grade_file
from grader.spec import registry

EXERCISE = registry.find("03")
USAGE_ERROR = 2
# Launches of 1 us each, 2 us for one copy of little; 1,000,000 bytes per us beyond that.
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
RIGHT: dict[str, Any] = {
    "launch_us": 1.0,
    "overhead_share": 0.75,
    "predicted_speedup": 4.0,
    "break_even_bytes": 6_000_000,
    "decision": "fuse",
}


@pytest.fixture
def earned(tmp_path: Path):
    """What right answers but for `changed` ones earn, by name."""

    def graded(measurement: object = MEASUREMENT, **changed: object) -> dict[str, float]:
        lines = [f"{name} = {json.dumps(value)}" for name, value in (RIGHT | changed).items()]
        (tmp_path / "mine.toml").write_text("\n".join(lines))
        (tmp_path / "measurement.json").write_text(json.dumps(measurement))
        results = grade_file(EXERCISE, tmp_path / "mine.toml")
        assert results.points == 10
        return {one.name: one.earned for one in results.graded}

    return graded


def test_right_answers_earn_everything(earned) -> None:
    assert earned() == dict.fromkeys(RIGHT, 2)


@pytest.mark.parametrize(
    ("error", "credit"), [(0.05, 2), (-0.09, 2), (0.2, 1), (-0.25, 1), (0.4, 0), (-0.5, 0)]
)
@pytest.mark.parametrize("name", [name for name in RIGHT if name != "decision"])
def test_a_number_earns_by_how_near_it_is(name: str, error: float, credit: float, earned) -> None:
    assert earned(**{name: RIGHT[name] * (1 + error)})[name] == credit


@pytest.mark.parametrize("given", ["?", 10**400, float("inf"), "x" * 999], ids=["?", "long", "inf", "words"])
def test_what_is_no_answer_earns_nothing(given: object, tmp_path: Path) -> None:
    (tmp_path / "measurement.json").write_text(json.dumps(MEASUREMENT))
    written = "inf" if given == float("inf") else json.dumps(given)
    (tmp_path / "mine.toml").write_text("\n".join(f"{name} = {written}" for name in RIGHT))
    assert grade_file(EXERCISE, tmp_path / "mine.toml").earned == 0


@pytest.mark.parametrize(
    ("step_us", "changed", "points"),
    [
        pytest.param(20_000.0, {}, 0, id="a long step makes fusing not worth it"),
        pytest.param(20_000.0, {"decision": "leave"}, 2, id="and leaving right"),
        pytest.param(1000.0, {"decision": "leave"}, 0, id="a short one does not"),
        pytest.param(1180.0, {"decision": "leave"}, 2, id="5.9 us where 6 are saved: either is right"),
        pytest.param(1180.0, {}, 2, id="5.9 us where 6 are saved: the other too"),
        pytest.param(1000.0, {"launch_us": 0.1, "decision": "leave"}, 1, id="follows from an own number"),
        pytest.param(1000.0, {"launch_us": 0.1}, 2, id="right in spite of an own number"),
    ],
)
def test_the_decision_follows_from_the_step(step_us: float, changed: dict, points: float, earned) -> None:
    assert earned(MEASUREMENT | {"step_us": step_us}, **changed)["decision"] == points


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"rows": 3}, "`rows.0.separate_us` is missing"),
        ({"rows": [1, 2]}, "`rows.0.separate_us` is missing"),
        ({"rows": MEASUREMENT["rows"][:1]}, "break_even_bytes does not follow from it"),
        ({"rows": [MEASUREMENT["rows"][0]] * 2}, "break_even_bytes does not follow from it"),
        ({"copies": "7"}, "`copies` is '7', but must be a number above 0"),
        ({"copies": True}, "`copies` is True"),
        ({"copies": float("nan")}, "`copies` is nan"),
        ({"copies": 10**400}, "launch_us does not follow from it"),
        ({"copies": 1}, "launch_us does not follow from it"),
        ({"copies": 0.5}, "seven copies were no slower than one"),
        ({"step": []}, "`step.copies` is missing"),
        ({"step": MEASUREMENT["step"] | {"separate_us": 3}}, "a step took less time than its launches"),
        ({"step_us": -5}, "`step_us` is -5"),
        ({"step_us": "x" * 999}, "`step_us` is 'xxx"),
    ],
)
def test_a_measurement_that_says_nothing_is_one_sentence(
    changed: dict, words: str, earned, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    earned()
    (tmp_path / "measurement.json").write_text(json.dumps(MEASUREMENT | changed))
    assert cli.main(["answers", "03", str(tmp_path / "mine.toml")]) == USAGE_ERROR
    out, error = capsys.readouterr()
    assert out == ""
    assert error.startswith(f"error: {tmp_path / 'measurement.json'}: ")
    assert words in error
    assert error.endswith("`./course measure 03` writes a whole one\n")


def test_without_a_measurement_the_way_to_one_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.toml").write_text("launch_us = 1\n")
    assert cli.main(["answers", "03", str(tmp_path / "mine.toml")]) == USAGE_ERROR
    assert "measurement.json: `./course measure 03`" in capsys.readouterr().err


def test_a_file_of_another_kind_or_exercise_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["answers", "03", "mine.txt"]) == USAGE_ERROR
    assert "03_batched_copy asks for answers.toml and faults.py" in capsys.readouterr().err
    assert cli.main(["answers", "01", "mine.toml"]) == USAGE_ERROR
    assert "has no file of answers to grade" in capsys.readouterr().err


def test_the_template_names_every_answer() -> None:
    template = tomllib.loads((EXERCISE.folder / "answers.toml").read_text())
    assert list(template) == list(RIGHT) == [one.name for one in EXERCISE.sheets[0].questions]
