"""wmma.load and wmma.store where the address has an offset of its own, as compilers write it."""

from __future__ import annotations

from tests.virtual_gpu.small_programs import build_text, run

# A tile of 16 x 16 floats, 64 bytes into shared memory, goes 128 bytes into global memory; the compiler folds
# the places of both into the instructions, as it does with members of a struct.
PROGRAM = """
#define EIGHT(c) c(r[0]), c(r[1]), c(r[2]), c(r[3]), c(r[4]), c(r[5]), c(r[6]), c(r[7])
__global__ void move_tile(float* out) {
  __shared__ __align__(32) float tile[16 + 256];
  for (int i = threadIdx.x; i < 256; i += 32) tile[16 + i] = i;
  __syncwarp();
  float r[8];
  const unsigned from = __cvta_generic_to_shared(tile);
  asm volatile("wmma.load.c.sync.aligned.row.m16n16k16.shared.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8+64], %9;"
               : EIGHT("=f") : "r"(from), "r"(16));
  asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%0+128], {%1,%2,%3,%4,%5,%6,%7,%8}, %9;"
               :: "l"(out), EIGHT("f"), "r"(16) : "memory");
  asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.f32 [%0+-1024], {%1,%2,%3,%4,%5,%6,%7,%8}, %9;"
               :: "l"(out + 32 + 512), EIGHT("f"), "r"(16) : "memory");
}
int main() {
  float *out, host[32 + 512];
  cudaMalloc(&out, sizeof host);
  cudaMemset(out, 0, sizeof host);
  move_tile<<<1, 32>>>(out);
  cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < 512; ++i) wrong += host[32 + i] != i % 256;
  for (int i = 0; i < 32; ++i) wrong += host[i] != 0;
  std::printf("%d wrong\\n", wrong);
  cudaFree(out);
}
"""


def test_tiles_are_read_and_written_where_the_offset_says():
    done = run(build_text(PROGRAM))
    assert done.report.findings == ()
    assert done.stdout == "0 wrong\n"


# A fragment of 16 x 16 halves is eight registers, of which the last four repeat the first.
HALVES = """
#include <mma.h>
using namespace nvcuda;
__global__ void sum(const __half* from, float* out) {
  __shared__ __align__(32) __half tile[16 * 24];  // rows of 48 bytes: eight of them are in different banks
  for (int i = threadIdx.x; i < 256; i += 32) tile[i / 16 * 24 + i % 16] = from[i];
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(c, 0.0f);
  wmma::load_matrix_sync(a, from, 16);
  wmma::load_matrix_sync(b, tile, 24);
  wmma::mma_sync(c, a, b, c);
  wmma::store_matrix_sync(out, c, 16, wmma::mem_row_major);
}
int main() {
  __half* from;
  float* out;
  cudaMalloc(&from, 512);
  cudaMalloc(&out, 1024);
  cudaMemset(from, 0, 512);
  sum<<<1, 32>>>(from, out);
  cudaDeviceSynchronize();
  cudaFree(from);
  cudaFree(out);
}
"""


def test_an_element_of_a_fragment_is_loaded_once():
    """As ptxas compiles it: four loads from global memory, or one ldmatrix of four wavefronts."""
    (launch,) = run(build_text(HALVES)).report.launches
    assert launch.counters.global_load_requests == 8 + 4  # the loop of 8, and A
    assert launch.counters.shared_load_wavefronts == 4  # B
