"""The shorter ways of checks, counters and exchanges change nothing: output, findings, counters and modelled
times are those of the long ways, in right programs and in faulty ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from benchmarks.virtual_gpu.faults.corpus import Fault
from benchmarks.virtual_gpu.programs.corpus import Program
from tests.virtual_gpu.hostile.runner import run as run_hostile
from tests.virtual_gpu.test_determinism import CASES, outcome
from tests.virtual_gpu.test_faults import FAULTS, HANG_OPTIONS, corpus
from tests.virtual_gpu.test_programs import LIMIT_SECONDS, PROGRAMS, programs_of

SWITCH = "VGPU_SHORTCUTS"
# They differ between runs: streams are numbered as host threads come to them; a finding has a host address.
VARIES = {"per_thread_stream", "memory_host_pointer_in_kernel"}
HANG_LIMIT = 1_000_000  # warp instructions


@pytest.fixture(autouse=True)
def the_same_device_memory(monkeypatch):
    """Some programs print how much there is; without a limit it is what the machine can spare just then."""
    monkeypatch.setenv("VGPU_ENGINE_ARGUMENTS", f"--memory-limit {4 << 30}")


def named(corpus: Sequence[Program] | Sequence[Fault]) -> dict[str, Any]:
    steady = [one for one in corpus if one.name not in VARIES]
    return {"argvalues": steady, "ids": [one.name for one in steady]}


@pytest.mark.parametrize("program", **named(PROGRAMS))
def test_a_right_program_runs_the_same_without_them(program, monkeypatch):
    built = programs_of(program.capabilities[0], program.flags)
    short = outcome(built.run(program.name, timeout=LIMIT_SECONDS))
    monkeypatch.setenv(SWITCH, "off")
    assert outcome(built.run(program.name, timeout=LIMIT_SECONDS)) == short


@pytest.mark.parametrize("fault", **named(FAULTS))
def test_a_faulty_program_has_the_same_findings_without_them(fault, monkeypatch):
    options = HANG_OPTIONS if fault.hangs else None
    short = outcome(corpus(False).run(fault.name, options=options, timeout=LIMIT_SECONDS))
    monkeypatch.setenv(SWITCH, "off")
    assert outcome(corpus(False).run(fault.name, options=options, timeout=LIMIT_SECONDS)) == short


@pytest.mark.parametrize("case", CASES)
def test_a_race_has_the_same_winner_without_them(case, monkeypatch):
    short = outcome(run_hostile("determinism", case, max_warp_instructions=HANG_LIMIT))
    monkeypatch.setenv(SWITCH, "off")
    assert outcome(run_hostile("determinism", case, max_warp_instructions=HANG_LIMIT)) == short
