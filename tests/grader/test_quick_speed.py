"""What a student waits for at the end of a check, and what only grading looks at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from common.virtual_gpu.places import shorten_places, shown_path
from common.virtual_gpu.report import Counters, KernelTotals, LineCounters, Report
from grader.answers.compare import Answer, answer
from grader.devices.device import VirtualDevice
from grader.devices.on_virtual.session import TIMING
from grader.pipeline.grading import grade
from grader.timing.modelled import model as speed_virtual
from tests.grader.stepped_exercise import EXERCISE, SOLUTION


def answers_computed(monkeypatch: pytest.MonkeyPatch, *, quick: bool) -> list[str]:
    """The cases whose answers are worked out while times are modelled."""
    found: list[str] = []

    def counted(task: Any, size: Any, call: Any) -> Answer:
        found.append(str(size))
        return answer(task, size, call)

    monkeypatch.setattr(speed_virtual, "answer", counted)
    record = grade(EXERCISE, SOLUTION, submission="x", device="virtual", seed="a seed", quick=quick)
    assert record.verdict == "full marks"
    return found


def test_only_grading_looks_at_the_baselines_answers(monkeypatch: pytest.MonkeyPatch):
    of_a_check = answers_computed(monkeypatch, quick=True)
    of_grading = answers_computed(monkeypatch, quick=False)
    assert of_a_check
    assert len(of_grading) == 2 * len(of_a_check)


def traced_blocks(monkeypatch: pytest.MonkeyPatch, seed: str, *, quick: bool) -> set[object]:
    """What draws the blocks that the model looks at, in each session that times calls."""
    found: list[Any] = []
    session = VirtualDevice.session_with_figures

    def noted(device: VirtualDevice, program: Any, options: Any = None, **others: Any) -> Any:
        found.append(options or {})
        return session(device, program, options, **others)

    monkeypatch.setattr(VirtualDevice, "session_with_figures", noted)
    grade(EXERCISE, SOLUTION, submission="x", device="virtual", seed=seed, quick=quick)
    return {options.get("cost_seed", "fixed") for options in found if TIMING.items() <= options.items()}


def test_each_check_looks_at_the_same_blocks_and_each_class_at_others(monkeypatch: pytest.MonkeyPatch):
    for seed in ("one", "two"):
        assert traced_blocks(monkeypatch, seed, quick=True) == {"fixed"}
    [one] = traced_blocks(monkeypatch, "one", quick=False)
    [two] = traced_blocks(monkeypatch, "two", quick=False)
    assert len({one, two, "fixed"}) == 3


def test_a_path_of_a_thousand_lines_is_checked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lines = tuple(LineCounters(str(tmp_path / "kernel.cu"), number, Counters()) for number in range(1000))
    kernels = (KernelTotals("copy", "copy", 1, 0, 0.0, 0.0, Counters(), lines),)
    resolved: list[Path] = []
    resolve = Path.resolve

    def counted(path: Path) -> Path:
        resolved.append(path)
        return resolve(path)

    monkeypatch.setattr(Path, "resolve", counted)
    shown_path.cache_clear()
    (kernel,) = shorten_places(Report(kernels=kernels), tmp_path).kernels
    assert {line.file for line in kernel.lines} == {"kernel.cu"}
    assert len(resolved) <= 1
