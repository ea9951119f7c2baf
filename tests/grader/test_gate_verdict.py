"""The gate's verdict from planted measurements: every criterion alone decides it with its reason, and what
was not measured or cannot be reached is never called met."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from grader.gate import report, sanitizer
from grader.gate.criteria import CounterGained
from grader.gate.find import find
from grader.gate.measured import (
    MEMCHECK,
    RACECHECK,
    VIRTUAL_GPU,
    CaseError,
    Counters,
    Free,
    Look,
    Measured,
    Taken,
    Times,
)
from grader.gate.verdict import Verdict, decide
from grader.records.device_info import DeviceInfo
from grader.spec import registry
from grader.tuning.counters import DRAM_THROUGHPUT, L2_HITS

EXERCISE, GATE = find("05")
SLOW, FAST = [2.0e-5, 2.1e-5, 1.9e-5] * 20, [1.0e-5, 1.1e-5, 0.9e-5] * 20
CLEAN = [Look(VIRTUAL_GPU, 14), Look(MEMCHECK, 4), Look(RACECHECK, 4)]
GOOD = Measured(
    times=Times(SLOW, FAST),
    counters=Counters({L2_HITS: 70.0, DRAM_THROUGHPUT: 40.0}, {L2_HITS: 80.0, DRAM_THROUGHPUT: 25.0}),
    errors=[CaseError("a case", 4e-4), CaseError("another", 5e-4)],
    looks=CLEAN,
    taken=Taken(registers=96, shared=49_152, spilled=0),
    free=Free(lack="nobody looked"),
)


def judged(**changed: Any) -> Verdict:
    return decide(GATE, dataclasses.replace(GOOD, **changed))


def state(verdict: Verdict, name: str) -> str:
    return next(one.finding.state for one in verdict.criteria if one.name == name)


def test_what_meets_everything_is_kept() -> None:
    verdict = judged()
    assert verdict.keep
    assert verdict.headline == "keep V3: 12 of 12 criteria met"
    assert verdict.reasons == []


BUSY = {L2_HITS: 70.0, DRAM_THROUGHPUT: 40.0}
FAILING: dict[str, tuple[str, dict[str, Any], str]] = {
    "too little time saved": ("time saved", {"times": Times(SLOW, [t * 0.85 for t in SLOW])}, "20% less"),
    "more bytes from DRAM": (
        "DRAM throughput",
        {"counters": Counters(BUSY, {L2_HITS: 80.0, DRAM_THROUGHPUT: 35.0})},
        "-10 points were required",
    ),
    "fewer hits": (
        "L2 hit rate",
        {"counters": Counters(BUSY, {L2_HITS: 75.0, DRAM_THROUGHPUT: 25.0})},
        "+8 points were required",
    ),
    "a race on the virtual GPU": (
        "the virtual GPU's checks",
        {"looks": [Look(VIRTUAL_GPU, 14, ["kernel.cu:7: two threads"]), *CLEAN[1:]]},
        "kernel.cu:7: two threads",
    ),
    "a race on the GPU": (
        "compute-sanitizer",
        {"looks": [*CLEAN[:2], Look(RACECHECK, 4, ["a case: Race reported"])]},
        "a case: Race reported",
    ),
    "an answer too far off": ("relative error of a row", {"errors": [CaseError("odd", 0.02)]}, "at odd"),
    "a crash": (
        "relative error of a row",
        {"errors": [*GOOD.errors, CaseError("odd", 0.0, "it ended with SIGSEGV", right=False)]},
        "odd: it ended with SIGSEGV",
    ),
    "too much shared memory": (
        "shared memory of a block",
        {"taken": Taken(96, 49_153)},
        "49,152 bytes are allowed",
    ),
    "too many registers": ("registers of a thread", {"taken": Taken(97, 1)}, "96 are allowed"),
    "spills": ("spilled registers", {"taken": Taken(96, 1, spilled=8)}, "registers are spilled to memory"),
}


@pytest.mark.parametrize("mistake", FAILING)
def test_each_criterion_alone_decides_the_verdict_with_its_reason(mistake: str) -> None:
    name, changed, reason = FAILING[mistake]
    verdict = judged(**changed)
    assert not verdict.keep
    assert verdict.headline == f"fall back to V2: {name} (missed)"
    (sentence,) = verdict.reasons
    assert sentence.startswith(f"{name}: missed: ")
    assert reason in sentence


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("95 % intervals of the medians", "the second is not below the first"),
        ("Hedges' g", "the times spread too much"),
        ("Mann-Whitney p", "both may have the same speed"),
    ],
)
def test_each_statistic_alone_decides_where_medians_would_not(name: str, reason: str) -> None:
    """Few samples that spread widely: their median alone promises half of the time."""
    times = Times([2.0e-5, 2.1e-5, 1.9e-5, 2.2e-5, 2.0e-5], [0.5e-5, 0.9e-5, 1.0e-5, 9.0e-5, 9.0e-5])
    measured = dataclasses.replace(GOOD, times=times)
    assert state(decide(GATE, measured), "time saved") == "met"
    alone = dataclasses.replace(GATE, criteria=tuple(one for one in GATE.criteria if one.name == name))
    verdict = decide(alone, measured)
    assert not verdict.keep
    assert verdict.headline == f"fall back to V2: {name} (missed)"
    assert verdict.reasons == [f"{name}: missed: {reason}"]


def test_a_working_set_in_l2_leaves_nothing_to_gain_and_the_verdict_says_so() -> None:
    verdict = judged(
        counters=Counters({L2_HITS: 97.5, DRAM_THROUGHPUT: 1.2}, {L2_HITS: 96.0, DRAM_THROUGHPUT: 2.5})
    )
    assert verdict.keep
    left = "not attainable here: L2 hit rate, DRAM throughput"
    assert verdict.headline == f"keep V3: 10 of 12 criteria met; {left}"
    assert "L2 hit rate: not attainable here: 97.5 % leaves no room for +8 points" in verdict.reasons
    assert "DRAM throughput: not attainable here: 1.2 % leaves no room for -10 points" in verdict.reasons
    seen = {one.name: one.finding.seen for one in verdict.criteria}
    assert seen["L2 hit rate"] == "-1.5 points (97.5 % to 96.0 %)"


@pytest.mark.parametrize(
    ("theirs", "mine", "found"),
    [
        (92.0, 100.0, "met"),  # the last that can be reached
        (92.1, 99.9, "not attainable here"),
        (92.0, 99.9, "missed"),
        (97.0, 80.0, "missed"),  # nothing to gain, and that much lost
    ],
)
def test_attainable_counters(theirs: float, mine: float, found: str) -> None:
    measured = dataclasses.replace(GOOD, counters=Counters({L2_HITS: theirs}, {L2_HITS: mine}))
    assert CounterGained(L2_HITS, 8, "hits").judge(measured).state == found


def test_modelled_times_have_no_intervals() -> None:
    verdict = judged(times=Times([2e-5], [1e-5], modelled=True))
    assert verdict.keep
    statistics = ("95 % intervals of the medians", "Hedges' g", "Mann-Whitney p")
    assert all(state(verdict, name) == "not measured" for name in statistics)
    assert verdict.headline.endswith(f"not measured: {', '.join(statistics)}")
    assert verdict.reasons == [
        f"{', '.join(statistics)}: not measured: modelled times do not vary, so there is no spread"
    ]
    assert verdict.criteria[0].finding.seen.endswith("modelled)")


def test_without_tools_a_kernel_may_be_kept_but_never_silently() -> None:
    verdict = judged(
        counters=Counters(lack="ncu is not installed"),
        looks=[CLEAN[0], *sanitizer.absent("compute-sanitizer is not installed")],
    )
    assert verdict.keep
    assert verdict.headline.endswith("; not measured: L2 hit rate, DRAM throughput, compute-sanitizer")
    assert "L2 hit rate, DRAM throughput: not measured: ncu is not installed" in verdict.reasons


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"times": Times(lack="the GPU was throttled")}, "time saved"),
        ({"errors": []}, "relative error of a row"),
        ({"looks": CLEAN[1:]}, "the virtual GPU's checks"),
        ({"taken": Taken(lack="ptxas said nothing")}, "registers of a thread"),
    ],
)
def test_a_needed_criterion_must_be_measured(changed: dict[str, Any], name: str) -> None:
    verdict = judged(**changed)
    assert not verdict.keep
    assert f"{name} (not measured)" in verdict.headline


def test_one_sanitizer_tool_alone_is_not_enough() -> None:
    verdict = judged(looks=[*CLEAN[:2], Look(RACECHECK, lack="it did not end")])
    assert state(verdict, "compute-sanitizer") == "not measured"


SANITIZED = "========= COMPUTE-SANITIZER\n========= {}\n========= {} SUMMARY: {} errors\n"


@pytest.mark.parametrize(
    ("status", "output", "verdict"),
    [
        (0, SANITIZED.format("", "ERROR", 0), ("", "")),
        (0, SANITIZED.format("", "RACECHECK", "0 hazards displayed, 0"), ("", "")),
        (9, SANITIZED.format("Invalid __shared__ read", "ERROR", 3), ("a: Invalid __shared__ read", "")),
        (1, "No module named torch\n", ("", "compute-sanitizer did not run: No module named torch")),
        (
            3,
            SANITIZED.format("", "ERROR", 0),
            ("", "the call under compute-sanitizer ended with status 3"),
        ),
    ],
)
def test_the_sanitizers_words_are_read(status: int, output: str, verdict: tuple[str, str]) -> None:
    assert sanitizer.judge("a", status, output) == verdict


def test_reports_hold_what_was_measured_and_survive_strange_numbers(tmp_path) -> None:
    measured = dataclasses.replace(GOOD, errors=[CaseError("a | b", float("inf"))])
    found = report.Report(
        EXERCISE, GATE, "kernel.cu", DeviceInfo("gpu", "GPU"), measured, decide(GATE, measured)
    )
    path = report.write(found, report.plain(found, b"text"), tmp_path / "new", "gpu-05")
    text = path.read_text()
    assert text.startswith("# 05_flash_attention: fall back to V2: relative error of a row (missed)")
    assert "| a \\| b | inf |" in text
    assert "| L2 hit rate, % | 70 | 80 |" in text
    assert "not measured: nobody looked" in text
    data = json.loads(path.with_suffix(".json").read_text())
    assert data["keep"] is False
    assert data["measured"]["errors"][0]["error"] is None
    assert data["measured"]["times"]["mine"] == FAST
    assert {one["name"] for one in data["criteria"]} == {one.name for one in GATE.criteria}
    assert "fall back to V2" in report.terminal(found)


def test_only_exercises_with_a_gate_have_one() -> None:
    assert registry.find("05").id == EXERCISE.id
    with pytest.raises(Exception, match="01_kv_store has no acceptance gate; exercises with a gate: 05_"):
        find("01")
