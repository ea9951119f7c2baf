"""Whatever lies in answers.toml and measurement.json, exercise 03's reality check ends with one sentence."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from grader.spec import registry

EXERCISE = registry.find("03")
reality_check = importlib.import_module("exercise_03_batched_copy.reality_check")
answers = importlib.import_module("exercise_03_batched_copy.answers")
USAGE_ERROR = 2
ANSWERS = 'launch_us = 1.0\ndecision = "fuse"\n'
LONG = "9" * 400  # more than a float holds
ENDLESS = "9" * 5000  # more than Python reads
MEASUREMENT: dict[str, Any] = {
    "copies": 7,
    "rows": [
        {"bytes": 28, "separate_us": 8.0, "one_us": 2.0},
        {"bytes": 28 * 10**6, "separate_us": 36.0, "one_us": 30.0},
    ],
    "step": {"copies": 7, "separate_us": 8.0},
    "step_us": 1000.0,
    "worth_share": 0.005,
}
WHOLE = json.dumps(MEASUREMENT)


def broken(**changed: object) -> str:
    return json.dumps(MEASUREMENT | changed)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where answers.toml and measurement.json are as they should be."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers.toml").write_text(ANSWERS)
    (tmp_path / "measurement.json").write_text(WHOLE)
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one sentence of a run that must be refused; an exception would be a traceback."""
    try:
        status = reality_check.main(arguments)
    except SystemExit as ended:
        status = ended.code
    out, err = capsys.readouterr()
    assert status == USAGE_ERROR
    assert out == ""
    assert err.startswith("error: ")
    sentence, _, more = err.partition("\n")
    assert not more or more.endswith("--help` shows the options.\n")
    return sentence


def test_whole_files_are_graded(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert reality_check.main(["--grade", "answers.toml"]) == 0
    assert "launch_us          2 of 2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"a = 1\noverhead_share = .82\n", "answers.toml:2:18: this is not TOML", id="no zero"),
        pytest.param(b"launch_us = \n", "answers.toml:1:13: this is not TOML", id="no value"),
        pytest.param(b'a = 1\nb = "\xff"\n', "answers.toml:2: this is not UTF-8 text", id="not UTF-8"),
        pytest.param(
            f"a = 1\nlaunch_us = {LONG}\n".encode(),
            "answers.toml:2: launch_us has more digits",
            id="400 digits",
        ),
        pytest.param(f"launch_us = {ENDLESS}\n".encode(), "longer than any answer can be", id="5,000 digits"),
        pytest.param(f"launch_us = 0x{'f' * 5000}\n".encode(), "has more digits", id="hexadecimal digits"),
        pytest.param(b"launch_us = " + b"[" * 5000, "longer than any answer can be", id="brackets"),
        pytest.param(b"#" * (1 << 21), "has more than 1,048,576 bytes", id="too long"),
    ],
)
def test_answers_that_cannot_be_read(
    folder: Path, capsys: pytest.CaptureFixture[str], content: bytes, words: str
) -> None:
    (folder / "answers.toml").write_bytes(content)
    assert words in told(capsys, "--grade", "answers.toml")


def test_answers_with_a_byte_order_mark_are_read(folder: Path) -> None:
    (folder / "answers.toml").write_bytes(b"\xef\xbb\xbf" + ANSWERS.encode())
    assert reality_check.main(["--grade", "answers.toml"]) == 0


def test_answers_that_are_not_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no mine.toml: copy answers.toml from" in told(capsys, "--grade", "mine.toml")
    (folder / "mine.toml").mkdir()
    assert "mine.toml is a folder" in told(capsys, "--grade", "mine.toml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("{", "measurement.json:1:2: this is not JSON", id="cut off"),
        pytest.param("", "measurement.json:1:1: this is not JSON", id="empty"),
        pytest.param("[" * 100_000, "more than a measurement can be", id="brackets"),
        pytest.param(f'{{"copies": {ENDLESS}}}', "more than a measurement can be", id="5,000 digits"),
        pytest.param(
            WHOLE.replace('"copies": 7', f'"copies": {LONG}', 1), "`copies` of the", id="400 digits"
        ),
        pytest.param(WHOLE.replace('"copies": 7', '"copies": NaN', 1), "is nan, but", id="not a number"),
        pytest.param("[]", "`rows` of the measurement is missing", id="a list"),
        pytest.param(broken(rows=3), "`rows` of the measurement is 3, but must be a list", id="rows"),
        pytest.param(broken(rows=[1, 2]), "`rows.0.bytes` of the measurement is missing", id="row"),
        pytest.param(broken(copies="7"), "`copies` of the measurement is '7', but", id="a string"),
        pytest.param(broken(copies=True), "`copies` of the measurement is True, but", id="a truth"),
        pytest.param(broken(copies=1), "seven copies were no slower than one", id="one copy"),
        pytest.param(broken(step=[]), "`step.copies` of the measurement is missing", id="no step"),
        pytest.param(broken(step_us=-5), "`step_us` of the measurement is -5, but", id="a step below 0"),
        pytest.param(broken(step_us="x" * 999), "`step_us` of the measurement is 'xxx", id="a long string"),
    ],
)
def test_measurements_that_say_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, words: str
) -> None:
    (folder / "measurement.json").write_text(text)
    sentence = told(capsys, "--grade", "answers.toml")
    assert words in sentence
    assert sentence.endswith("run reality_check.py without --grade, which writes a whole one")
    assert len(sentence) < 300


def test_a_measurement_that_is_not_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "measurement.json").unlink()
    assert "there is no measurement.json: run" in told(capsys, "--grade", "answers.toml")


@pytest.mark.parametrize("value", ["nan", "-5", "0", "1e400", "long", ""])
def test_the_length_of_a_step_is_a_number_above_0(
    folder: Path, capsys: pytest.CaptureFixture[str], value: str
) -> None:
    assert f"--step-us: {value!r} is not a number above 0" in told(capsys, f"--step-us={value}")


@pytest.mark.parametrize("place", ["nowhere/x", "."])
def test_a_place_that_cannot_be_written_is_said_before_anything_is_measured(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.delattr(reality_check, "measure")
    assert f"{place} cannot be written: --measurement must be a file" in told(capsys, "--measurement", place)


def test_a_gpu_that_is_not_there_is_said_in_a_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    devices = importlib.import_module("common.gpu.devices")
    monkeypatch.setattr(devices, "find_gpus", lambda: ())
    assert "no CUDA GPU was found" in told(capsys, "--device", "gpu")


def test_a_torch_that_finds_no_gpu_is_said_in_a_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr(reality_check, "first_gpu", lambda: None)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert "finds no GPU: install a torch that is built for CUDA" in told(capsys, "--device", "gpu")


@pytest.mark.parametrize("given", [10**400, float("inf"), [16**5000], "x" * 999])
def test_answers_of_any_kind_are_graded_without_an_exception(given: object) -> None:
    for line in answers.grade_answers(dict.fromkeys(("launch_us", "decision"), given), MEASUREMENT):
        assert line.points == 0
        assert "must be" in line.reason
        assert len(line.reason) < 200
