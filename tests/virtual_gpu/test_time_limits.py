"""A limit on a launch's time holds in every loop, also where each instruction has something to report."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.build.program import Target, build_program
from common.virtual_gpu.session import run_program
from tests.waiting import LONG

BEHIND = "p[1000000 + threadIdx.x * 977 + i * 131]"
ENDLESS = {
    "bad loads": f"sum += reinterpret_cast<volatile int*>(p)[{BEHIND[2:-1]}]; p[threadIdx.x % 16] = sum;",
    "bad stores": f"{BEHIND} = i; p[threadIdx.x % 16] = i;",
    "bad atomics": f"atomicAdd(&{BEHIND}, 1); p[threadIdx.x % 16] = i;",
    "printf": 'printf("%d %f %s\\n", i, i * 1.5, "a text"); p[threadIdx.x % 16] = i;',
    "shuffles from lanes that are not there": "p[threadIdx.x % 16] = __shfl_sync(~0u >> i % 31, i, 40);",
    "races": "slots[i % 256] = threadIdx.x + i; p[threadIdx.x % 16] = slots[(i + threadIdx.x) % 256];",
    "calls": "p[threadIdx.x % 16] = deep(p, 100) + i;",
}
SECONDS = 0.5
KERNEL = """
__global__ void loop_{number}(int* p) {{
  __shared__ int slots[256];
  int sum = slots[0] * 0;
  for (int i = 0; i >= 0; i = i + 1 & 0x7fffffff) {{ {body} }}
}}
"""
PROGRAM = """
#include <cstdio>
#include <cstdlib>
__device__ __noinline__ int deep(volatile int* x, int n) {{
  return n <= 0 ? x[0] : deep(x, n - 1) + x[n % 16];
}}
__global__ void short_blocks() {{}}
{kernels}
int main(int, char** arguments) {{
  int* p;
  cudaMalloc(&p, 64);
  cudaMemset(p, 0, 64);
  void (*loops[])(int*) = {{{names}}};
  if (atoi(arguments[1]) < 0) short_blocks<<<2147483647, 32>>>();
  else loops[atoi(arguments[1])]<<<16, 256>>>(p);
  return cudaDeviceSynchronize() == cudaSuccess;
}}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kernels = [KERNEL.format(number=number, body=body) for number, body in enumerate(ENDLESS.values())]
    names = ", ".join(f"loop_{number}" for number in range(len(ENDLESS)))
    source = tmp_path_factory.mktemp("endless") / "endless.cu"
    source.write_text(PROGRAM.format(kernels="".join(kernels), names=names))
    return build_program([source], Target.virtual("90")).path


@pytest.mark.parametrize("loop", ENDLESS)
def test_an_endless_loop_ends_at_the_limit(loop: str, program: Path):
    assert_ended(program, list(ENDLESS).index(loop))


def test_more_short_blocks_than_anybody_waits_for_end_at_the_limit(program: Path):
    assert_ended(program, -1)


def assert_ended(program: Path, number: int) -> None:
    run = run_program(
        program, [str(number)], options={"max_seconds": SECONDS}, timeout=20 * SECONDS, stdout=-1
    )
    assert not run.timed_out
    assert run.status == 0
    assert "limit" in {finding.kind for finding in run.report.findings}


@pytest.mark.parametrize("loop", ["bad loads", "bad stores", "bad atomics"])
def test_a_budget_of_instructions_holds_where_each_of_them_is_bad(loop: str, program: Path):
    """Where no limit on time would end it."""
    number = str(list(ENDLESS).index(loop))
    run = run_program(
        program, [number], options={"max_warp_instructions": 100_000}, timeout=10 * LONG, stdout=-1
    )
    assert not run.timed_out
    kinds = {finding.kind for finding in run.report.findings}
    assert "hang" in kinds
    assert "limit" not in kinds
