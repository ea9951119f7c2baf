"""Lanes of a warp that take different branches meet behind them, however long one of them polls for another
block: a barrier there is reached by the whole warp at once."""

from __future__ import annotations

from common.build.program import Target, build_program
from tests.virtual_gpu.small_programs import run_program, source_of

PROGRAM = r"""
#include <cooperative_groups.h>
#include <cstdint>
namespace cg = cooperative_groups;
__device__ uint32_t place(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ void init(uint64_t* barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(place(barrier)), "r"(count) : "memory");
}
__device__ void arrive(uint64_t* barrier, uint32_t rank) {
  asm volatile(
      "{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];}" ::"r"(place(barrier)), "r"(rank)
      : "memory");
}
__device__ void wait(uint64_t* barrier, int parity) {
  uint32_t done = 0;
  while (done == 0)
    asm volatile(
        "{.reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;"
        "selp.u32 %0, 1, 0, p;}"
        : "=r"(done)
        : "r"(place(barrier)), "r"(parity)
        : "memory");
}
// One lane of the second warp passes a turn from block to block, and back; its other lanes wait for it.
__global__ void __cluster_dims__(2, 1, 1) turns(int* out, int rounds) {
  __shared__ uint64_t mine;
  const uint32_t rank = cg::this_cluster().block_rank();
  if (threadIdx.x == 0) init(&mine, 1);
  cg::this_cluster().sync();
  if (threadIdx.x == 32) {
    for (int i = 0; i < rounds; ++i) {
      if (rank == 1) wait(&mine, i & 1);
      arrive(&mine, 1 - rank);
      if (rank == 0) wait(&mine, i & 1);
    }
    out[rank] = rounds;
  }
  cg::this_cluster().sync();
}
int main() {
  int *out, host[2];
  cudaMalloc(&out, sizeof host);
  turns<<<2, 64>>>(out, 100);
  cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(out);
  std::printf("%d %d\n", host[0], host[1]);
  return 0;
}
"""


def test_lanes_wait_at_the_end_of_their_branches_while_one_of_them_polls_for_another_block() -> None:
    built = build_program([source_of(PROGRAM)], Target.virtual("90"))
    run = run_program(built.path, stdout=-1, stderr=-1, timeout=60)
    assert [finding.message for finding in run.report.findings] == []
    assert run.stdout == "100 100\n"
