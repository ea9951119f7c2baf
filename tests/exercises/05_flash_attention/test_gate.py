"""The acceptance gate of exercise 05, by its command: V3 is kept, V2 does not replace itself, and what is
wrong with a file is said at its lines."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import pytest

from common.core.errors import CourseError
from grader.cli.instructor import gate as verb
from grader.gate import find, run, sanitizer
from grader.gate.measured import MEMCHECK, RACECHECK, Times
from grader.gate.run import Request, measure
from grader.gate.spec import Gate
from grader.gate.verdict import decide
from grader.spec import Exercise
from grader.tuning import ncu
from grader.tuning.counters import DRAM_THROUGHPUT, L2_HITS
from tests.grader.gpu_on_virtual import GpuOnVirtual, few_samples, gpu_on_virtual

__all__ = ["few_samples", "gpu_on_virtual"]

EXERCISE, GATE = find.find("05")
SHAPES = sys.modules["exercise_05_flash_attention.shapes"]
SMALL = SHAPES.bench(1, 4, 128)  # slow kernels are through with it in a second


def at_a_small_shape() -> tuple[Exercise, Gate]:
    small = dataclasses.replace(GATE, case=SMALL, cases=GATE.checked[:2], checked=GATE.checked[:1])
    return dataclasses.replace(EXERCISE, bench=(SMALL,)), small


@pytest.fixture
def small_gate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The command judges at the small shape; where its reports go."""
    monkeypatch.setattr(find, "find", lambda text: at_a_small_shape())
    return tmp_path / "reports"


def gate(output: Path, *arguments: str) -> int:
    return verb.main(["05", *arguments, "--device", "virtual", "--output", str(output)])


def states(report: Path) -> dict[str, str]:
    return {one["name"]: one["state"] for one in json.loads(report.read_text())["criteria"]}


def test_the_documents_seven_cases_and_its_shape_are_what_is_judged() -> None:
    sizes = [(c.size.batch, c.size.length, c.size.heads, c.size.head_dim, c.size.causal) for c in GATE.cases]
    assert sizes == [(*four, causal) for four in SHAPES.SEVEN for causal in (0, 1)]
    at = GATE.case.size
    assert (at.batch, at.heads, at.length, at.head_dim, at.causal, at.bfloat16) == (2, 8, 512, 64, 0, 0)


def test_v3_is_kept(small_gate: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate(small_gate) == 0
    shown = capsys.readouterr().out
    assert "times modelled by the virtual GPU, not measured" in shown
    assert "keep V3: 6 of 12 criteria met; not measured: 95 % intervals" in shown
    report = small_gate / "virtual-h200-05.json"
    found = states(report)
    assert [name for name, state in found.items() if state == "met"] == [
        "time saved",
        "the virtual GPU's checks",
        "relative error of a row",
        "shared memory of a block",
        "registers of a thread",
        "spilled registers",
    ]
    assert set(found.values()) == {"met", "not measured"}
    measured = json.loads(report.read_text())["measured"]
    free = measured["free"]
    assert free["times"]["theirs"] == measured["times"]["mine"], "compared with the file as it stands"
    assert free["taken"]["registers"] > 96
    assert not free["lack"]
    assert not free["times"]["lack"]
    text = report.with_suffix(".md").read_text()
    assert "| BLOCK_M=128 BLOCK_N=64 BLOCKS_PER_SM=2 |" in text
    assert "| bank conflicts |" in text


def test_v2_does_not_replace_itself(small_gate: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate(small_gate, str(EXERCISE.baseline)) == 1
    shown = capsys.readouterr().out
    assert "fall back to V2: time saved (missed)" in shown
    assert "not measured: the file has no macro BLOCK_M" in shown


def test_a_kernel_that_is_wrong_is_not_timed(small_gate: Path, tmp_path: Path) -> None:
    source = tmp_path / "kernel.cu"
    wait = "wait_for_copies<kStages - {}>"
    text = EXERCISE.solution.read_text()
    assert text.count(wait.format(2)) == 1
    source.write_text(text.replace(wait.format(2), wait.format(1)))
    assert gate(small_gate, str(source)) == 1
    data = json.loads((small_gate / "virtual-h200-05.json").read_text())
    missed = [one["name"] for one in data["criteria"] if one["state"] == "missed"]
    assert missed == ["the virtual GPU's checks", "relative error of a row"]
    findings = data["measured"]["looks"][0]["findings"]
    assert all(one.startswith("kernel.cu:") for one in findings)
    assert data["measured"]["times"]["lack"].startswith("its answers are not right (")


@pytest.mark.usefixtures("small_gate")
def test_what_cannot_be_judged_is_a_sentence_with_its_line(tmp_path: Path) -> None:
    source = tmp_path / "kernel.cu"
    source.write_text("int flash_attention() {\n  return nothing;\n}\n")
    with pytest.raises(CourseError, match=r'kernel.cu:2:?\d*: error: .*"nothing"'):
        gate(tmp_path, str(source))
    with pytest.raises(CourseError, match="there is no file missing.cu"):
        gate(tmp_path, "missing.cu")


@pytest.fixture
def a_gpu(monkeypatch: pytest.MonkeyPatch, gpu_on_virtual: None, few_samples: None) -> None:
    """A GPU with both of NVIDIA's tools, whose counters say that all of V2's working set sits in L2."""

    monkeypatch.setattr(ncu, "installed", lambda: True)
    monkeypatch.setattr(ncu, "profiled", lambda *_: {L2_HITS: 97.0, DRAM_THROUGHPUT: 1.0})
    monkeypatch.setattr(sanitizer, "installed", lambda: True)
    monkeypatch.setattr(sanitizer, "_look", lambda *_: ("", ""))


@pytest.mark.usefixtures("a_gpu")
def test_on_a_gpu_times_have_intervals_and_every_tool_looks(tmp_path: Path) -> None:
    exercise, small = at_a_small_shape()
    request = Request(exercise, small, exercise.solution, GpuOnVirtual(), trusted=True)
    found = measure(request, tmp_path, lambda text: None)
    assert not found.times.modelled
    assert len(found.times.mine) == len(found.times.theirs) >= 2
    assert {look.tool: look.calls for look in found.looks} == {"virtual GPU": 1, MEMCHECK: 1, RACECHECK: 1}
    verdict = decide(small, found)
    left = {one.name: one.finding.state for one in verdict.criteria if one.finding.state != "met"}
    # Two samples that are modelled all the same: too few for a p, and nothing else is missed.
    assert left == {
        "Mann-Whitney p": "missed",
        "L2 hit rate": "not attainable here",
        "DRAM throughput": "not attainable here",
    }


@pytest.mark.usefixtures("a_gpu")
def test_a_file_that_nobody_vouches_for_stays_behind_its_walls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unexpected(*_: object) -> None:
        raise AssertionError("it ran without walls")

    monkeypatch.setattr(ncu, "profiled", unexpected)
    monkeypatch.setattr(sanitizer, "_look", unexpected)
    monkeypatch.setattr(run, "timed", lambda *_: Times(lack="not asked for"))
    exercise, small = at_a_small_shape()
    request = Request(exercise, small, exercise.solution, GpuOnVirtual(), trusted=False)
    found = measure(request, tmp_path, lambda text: None)
    assert "--trusted" in found.counters.lack
    assert all("--trusted" in look.lack for look in found.looks[1:])
