"""Every self-checking program for sm_90a on the virtual GPU: right by its host reference, and no finding."""

from __future__ import annotations

from functools import cache

import pytest

from benchmarks.virtual_gpu.hopper.corpus import CAPABILITY, capabilities, hopper_programs
from benchmarks.virtual_gpu.hopper.counted import APART, FIGURES, UNCOUNTED, recorded
from benchmarks.virtual_gpu.programs.corpus import Program
from common.virtual_gpu.session import RunReport
from tests.virtual_gpu.programs_together import ProgramsTogether, build_together

PROGRAMS = hopper_programs()
LIMIT_SECONDS = 120.0
COUNTED = recorded()  # by ncu on an H200


@cache
def programs_of(cc: str) -> ProgramsTogether:
    alike = [program.source for program in PROGRAMS if cc in capabilities(program)]
    return build_together(alike, cc=cc, host_optimisation="-O0")


@cache
def run_of(name: str, cc: str) -> RunReport:
    return programs_of(cc).run(name, timeout=LIMIT_SECONDS)


@pytest.mark.parametrize(
    ("program", "cc"),
    [
        pytest.param(program, cc, id=f"{program.name}-{cc}")
        for program in PROGRAMS
        for cc in capabilities(program)
    ],
)
def test_a_correct_program_is_right_and_has_no_finding(program: Program, cc: str):
    assert programs_of(cc).diagnostics == []
    ran = run_of(program.name, cc)
    assert ran.status == 0, f"{program.name} {ran.ending}:\n{ran.stdout}{ran.stderr}"
    assert ran.report.findings == ()
    assert ran.report.leaks == ()


def test_every_program_was_counted_on_a_gpu_or_is_named():
    assert set(COUNTED) == {program.name for program in PROGRAMS} - UNCOUNTED


@pytest.mark.parametrize(
    "program",
    [program for program in PROGRAMS if program.name not in UNCOUNTED],
    ids=lambda program: program.name,
)
def test_the_copy_engine_and_products_are_counted_as_the_hardware_does(program: Program):
    launches, counted = run_of(program.name, CAPABILITY).report.launches, COUNTED[program.name]
    assert [str(launch.grid) for launch in launches] == [launch["grid"] for launch in counted]
    for figure in FIGURES:
        ours = [figure.virtual(launch.counters) for launch in launches]
        alike = ours == [figure.measured(launch["metrics"]) for launch in counted]
        assert alike == ((program.name, figure) not in APART), figure.name
