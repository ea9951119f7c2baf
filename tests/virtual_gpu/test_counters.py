"""The virtual GPU's counters, launch by launch, against what ncu counted on an H200 for the same programs."""

from __future__ import annotations

from functools import cache

import pytest

from benchmarks.virtual_gpu.counters.comparison import (
    DIFFERENCES,
    FIGURES,
    FOLDER,
    RECORDED,
    expected,
    short_name,
)
from common.virtual_gpu.report import SECTOR_BYTES, Report
from tests.virtual_gpu.programs_together import ProgramsTogether, build_together

LIMIT_SECONDS = 60.0
# What ncu sees DRAM deliver besides the kernel's data: its code and its parameters.
OVERHEAD_BYTES = 12 << 10


@cache
def programs() -> ProgramsTogether:
    return build_together([FOLDER / f"{program}.cu" for program in RECORDED])


@cache
def report_of(program: str) -> Report:
    ran = programs().run(program, timeout=LIMIT_SECONDS)
    assert ran.status == 0, f"{program} {ran.ending}:\n{ran.stdout}{ran.stderr}"
    assert ran.report.findings == ()
    return ran.report


def test_every_program_was_measured():
    assert sorted(RECORDED) == sorted(path.stem for path in FOLDER.glob("*.cu"))
    assert len(RECORDED) >= 10


def test_each_difference_is_real_and_names_its_kernel():
    for known in DIFFERENCES:
        launch = RECORDED[known.program][known.launch]
        assert short_name(launch["kernel"]) == known.kernel
        assert known.figure.measured(launch["metrics"]) != known.virtual, f"{known} is no difference"


@pytest.mark.parametrize("program", sorted(RECORDED))
def test_a_program_counts_as_the_hardware_does(program: str):
    launches = report_of(program).launches
    recorded = RECORDED[program]
    assert [str(launch.grid) for launch in launches] == [launch["grid"] for launch in recorded]
    wrong = [
        f"{short_name(recorded[index]['kernel'])}: {figure.name} {figure.virtual(launch.counters)}, "
        f"expected {expected(program, index, figure)}"
        for index, launch in enumerate(launches)
        for figure in FIGURES
        if figure.virtual(launch.counters) != expected(program, index, figure)
    ]
    assert wrong == []


@pytest.mark.parametrize("program", sorted(RECORDED))
def test_distinct_sectors_are_what_dram_must_deliver(program: str):
    """At least those; at most the whole 64-byte pairs that the L2 cache fetches, and the kernel itself."""
    for launch, recorded in zip(report_of(program).launches, RECORDED[program], strict=True):
        least = launch.distinct_load_sectors * SECTOR_BYTES
        delivered = recorded["metrics"]["dram__bytes_read.sum"]
        assert least <= delivered <= 2 * least + OVERHEAD_BYTES, launch.kernel
