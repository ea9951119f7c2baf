"""The headers of common/cuda/ that copy and that manage memory, graphs and banks, in small programs on the
virtual GPU."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from common.build.errors import BuildError
from common.build.program import Target, build_program
from common.virtual_gpu.report import Counters
from common.virtual_gpu.session import RunReport, run_program
from grader.building.build import HEADERS

HERE = Path(__file__).parent
# What no swizzled tile may have, and what eight rows of 128 bytes must have; four groups of eight lanes each.
PLAIN, PADDED, SWIZZLED, LONG = 4 * 8, 4, 4, 4


def run(name: str, *arguments: str, **checks: bool) -> RunReport:
    built = build_program([HERE / f"{name}.cu"], Target.virtual("90"), include_dirs=[HEADERS])
    ran = run_program(
        built.path, arguments, options=checks, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120
    )
    assert ran.status == 0, f"{ran.ending}:\n{ran.stdout}{ran.stderr}"
    return ran


@pytest.mark.parametrize("name", ["cp_async", "stream_buffer", "captured_graph"])
def test_a_header_keeps_what_it_promises_and_leaves_nothing_behind(name: str) -> None:
    ran = run(name)
    assert ran.stdout == f"{name}: ok\n"
    assert ran.report.findings == ()
    assert ran.report.leaks == ()


def test_memory_is_gone_with_its_owner() -> None:
    ran = run("stream_buffer", "used after its owner")
    assert ran.stdout == "stream_buffer: used after its owner\n"
    assert [finding.kind for finding in ran.report.findings] == ["memory"]
    assert "freed" in ran.report.findings[0].message


_16_ONLY = "cp.async.cg copies 16 bytes at a time: for 4 or 8 bytes take Cache::kAll"
_4_8_OR_16 = "cp.async.ca copies 4, 8 or 16 bytes at a time"


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        ("copy_async<4, Cache::kGlobal>(tile, in)", _16_ONLY),
        ("copy_async<8, Cache::kGlobal>(tile, in)", _16_ONLY),
        ("copy_async_or_zeros<8, Cache::kGlobal>(tile, in, 8)", _16_ONLY),
        ("copy_async<2, Cache::kAll>(tile, in)", _4_8_OR_16),
        ("copy_async<12, Cache::kAll>(tile, in)", _4_8_OR_16),
        ("copy_async_or_zeros<32, Cache::kAll>(tile, in, 4)", _4_8_OR_16),
        ("wait_for_copies<-1>()", "0 or more"),
    ],
)
def test_a_copy_of_a_size_that_there_is_not_is_refused_where_it_is_asked_for(
    call: str, rule: str, tmp_path: Path
) -> None:
    source = tmp_path / "kernel.cu"
    source.write_text(
        '#include "cp_async.cuh"\n'
        "__global__ void copies(const int* in, int* out) {\n"
        "  __shared__ __align__(16) int tile[64];\n"
        f"  {call};\n"
        "  wait_for_all_copies();\n"
        "  *out = *tile;\n"
        "}\n"
        "int main() {}\n"
    )
    with pytest.raises(BuildError) as refused:
        build_program([source], Target.virtual("90"), include_dirs=[HEADERS])
    [stated] = refused.value.diagnostics
    assert stated.file is not None
    assert (Path(stated.file).name, stated.line) == ("kernel.cu", 4)
    assert rule in stated.message
    assert stated.context[0].startswith("the rule is in cp_async.cuh, line ")


def turns(counters: Counters) -> int:
    return counters.shared_load_wavefronts + counters.shared_store_wavefronts


def test_the_bank_conflict_analyser_agrees_with_the_counters() -> None:
    """Tiles are read before anything is written there: what they hold does not matter here."""
    ran = run("bank_conflicts", init=False)
    stated = [line.split() for line in ran.stdout.splitlines()]
    launches = ran.report.launches
    assert [launch.kernel.partition("(")[0] for launch in launches] == [name for name, _ in stated]
    assert [turns(launch.counters) for launch in launches] == [int(said) for _, said in stated]
    by_layout = [int(said) for name, said in stated if name == "matrices"][:4]
    assert by_layout == [PLAIN, PADDED, SWIZZLED, LONG]
    assert len({said for _, said in stated}) > 5  # shuffled places differ, or they would show nothing
