"""The reality check of exercise 03 measures what its answers follow from, and refuses in one sentence."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.copies import reality_check
from grader.questions.sheets import grade_file
from grader.spec import registry

USAGE_ERROR = 2


def stated(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one sentence of a run that must be refused; an exception would be a traceback."""
    status: object
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


@pytest.mark.parametrize("value", ["nan", "-5", "0", "1e400", "long", ""])
def test_the_length_of_a_step_is_a_number_above_0(capsys: pytest.CaptureFixture[str], value: str) -> None:
    assert f"--step-us: {value!r} is not a number above 0" in stated(capsys, f"--step-us={value}")


@pytest.mark.parametrize("place", ["nowhere/x", "."])
def test_a_place_that_cannot_be_written_is_said_before_anything_is_measured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.delattr(reality_check, "measure")
    assert f"{place} cannot be written: --measurement must be a file" in stated(
        capsys, "--measurement", place
    )


def test_a_gpu_that_is_not_there_is_said_in_a_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    devices = importlib.import_module("common.gpu.devices")
    monkeypatch.setattr(devices, "find_gpus", lambda: ())
    assert "no CUDA GPU was found" in stated(capsys, "--device", "gpu")


def test_a_torch_that_finds_no_gpu_is_said_in_a_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr(reality_check, "first_gpu", lambda: None)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert "finds no GPU: install a torch that is built for CUDA" in stated(capsys, "--device", "gpu")


def test_the_reality_check_runs_on_the_virtual_gpu_and_what_follows_from_it_is_right(tmp_path: Path) -> None:
    command = [sys.executable, str(Path(reality_check.__file__)), "--device", "virtual"]
    ran = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=300)
    assert "modelled" in ran.stdout
    assert "step_us, the whole step that these copies are part of: assumed to be 1,000 us" in ran.stdout
    measured = json.loads((tmp_path / "measurement.json").read_text())
    assert measured["modelled"] is True
    first, *_, last = (row["separate_us"] / row["one_us"] for row in measured["rows"])
    assert first > last > 1  # launches matter less the more there is to copy
    exercise = registry.find("03")
    *numbers, decision = exercise.sheets[0].questions
    right = [f"{one.name} = {one.truth(measured, {})}" for one in numbers if callable(one.truth)]
    assert callable(decision.truth)
    [decided, *_] = decision.truth(measured, {}).credits
    (tmp_path / "answers.toml").write_text("\n".join([*right, f'decision = "{decided}"']))
    assert grade_file(exercise, tmp_path / "answers.toml").earned == 10
