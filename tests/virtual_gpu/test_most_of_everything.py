"""What a program can make many of has a limit in the engine, and the report says what it leaves out."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.virtual_gpu.engine_client import EngineProcess
from tests.virtual_gpu.small_programs import build_texts
from tests.waiting import LONG

MODULES = 1024  # kMostModules: object files with host code
GROUPS = 200  # kMaxGroups: findings of kernels, and as many of the host
LINES = 300

IN_A_KERNEL = """
__global__ void kernel(int* p) {
LINES
}
int main() {
  int* p = nullptr;
  cudaMalloc(&p, 64);
  kernel<<<1, 32>>>(p);
  cudaDeviceSynchronize();
  return 0;
}
"""
BY_THE_HOST = """
int main() {
  char* p = nullptr;
  cudaMalloc(&p, 64);
LINES
  return 0;
}
"""


@pytest.fixture
def engine() -> Iterator[EngineProcess]:
    process = EngineProcess()
    yield process
    process.stop()


def test_an_engine_keeps_so_many_names_of_object_files(engine: EngineProcess):
    """The rest has no lines, and costs nothing."""
    program = engine.ready("fill")
    numbers = [program.ask("CodeModule", f"/nowhere/{n}.so".encode()).number() for n in range(MODULES + 50)]
    assert sorted(filter(None, numbers)) == list(range(1, MODULES + 1))
    assert numbers[MODULES:] == [0] * 50
    assert program.ask("CodeModule", b"/nowhere/7.so").number() == numbers[7], "a known one keeps its number"
    assert program.ask("CodeModule", b"/" * 5000).number() == 0
    assert program.malloc(64)
    assert len(json.dumps(engine.harness.report())) < 1 << 16


@pytest.fixture(scope="module")
def programs():
    bad = "\n".join(f"  p[{1_000_000 + 1000 * n} + threadIdx.x] = {n};" for n in range(LINES))
    frees = "\n".join(f"  cudaFree(p + {n % 63 + 1});" for n in range(LINES))
    return build_texts(
        {"in_a_kernel": IN_A_KERNEL.replace("LINES", bad), "by_the_host": BY_THE_HOST.replace("LINES", frees)}
    )


@pytest.mark.parametrize("where", ["in_a_kernel", "by_the_host"])
def test_so_many_groups_of_findings_are_listed_and_the_others_counted(where: str, programs):
    first, again = (programs.run(where, timeout=LONG).report for _ in range(2))
    assert len(first.findings) == GROUPS
    assert first.findings_dropped > 0
    listed = sum(finding.count for finding in first.findings)
    assert listed + first.findings_dropped == LINES * (32 if where == "in_a_kernel" else 1)
    places = [finding.line for finding in first.findings]
    assert places == sorted(set(places))
    assert [finding.line for finding in again.findings] == places, "the same in every run"
