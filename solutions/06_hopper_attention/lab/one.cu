// A product of matrices. One producer warp brings tiles of a and b into a ring of two stages; four consumer
// warps multiply a tile as soon as it is there, and free its stage.
//
// a is [rows][depth], b [64][depth] and out [rows][64], in half precision: out is a times b transposed.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "mbarrier.cuh"
#include "tensor_copy.cuh"
#include "wgmma.cuh"

constexpr int kRows = 64;   // of a in a block, and all of b
constexpr int kDepth = 64;  // of a tile: its rows are 128 bytes
constexpr int kTileBytes = kRows * kDepth * 2;
constexpr int kStages = 2;

struct Job {
  CUtensorMap a, b;
  __half* out;
  int tiles;
};

struct Shared {
  alignas(1024) uint8_t a[kStages][kTileBytes];
  alignas(1024) uint8_t b[kStages][kTileBytes];
  Barrier full[kStages], empty[kStages];
};

// Begins result += a times b transposed, over the depth of a tile.
__device__ void multiply_tiles(float (&result)[32], const uint8_t* a, const uint8_t* b) {
#pragma unroll
  for (int step = 0; step < kDepth / 16; ++step) {  // 16 halves further along a row are 32 bytes
    Product<kRows>::multiply(result, describe(a) + 2 * step, describe(b) + 2 * step, 1, __half{});
  }
  commit_products();
}

// A lane has columns 8 i + 2 t and the next of rows g and g + 8 of its warp.
__device__ void store_rows(const float (&result)[32], __half* out) {
  const int warp = threadIdx.x / 32 % 4, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const int row = 16 * warp + g + i % 2 * 8, column = i / 2 * 8 + 2 * t;
    *reinterpret_cast<__half2*>(out + row * kRows + column) =
        __floats2half2_rn(result[2 * i], result[2 * i + 1]);
  }
}

// The last warp's first lane: tile after tile of both matrices, each when its stage is empty.
__device__ void produce(const Job& job, Shared& shared) {
  for (int i = 0; i < job.tiles; ++i) {
    const int stage = i % kStages, round = i / kStages;
    shared.empty[stage].wait(round % 2 ^ 1);
    shared.full[stage].arrive_and_expect(2 * kTileBytes);
    const int column = i * kDepth, row = blockIdx.x * kRows;
    load_tile(shared.a[stage], job.a, {column, row, 0, 0}, shared.full[stage]);
    load_tile(shared.b[stage], job.b, {column, 0, 0, 0}, shared.full[stage]);
  }
}

__global__ void __launch_bounds__(160) product_kernel(const __grid_constant__ Job job) {
  __shared__ Shared shared;
  const int lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      shared.full[stage].init(1);
      shared.empty[stage].init(4);  // a lane of each consumer warp
    }
    fence_barriers();
  }
  __syncthreads();
  if (threadIdx.x >= 128) {
    if (lane == 0) produce(job, shared);
    return;
  }
  float result[32] = {};
  for (int i = 0; i < job.tiles; ++i) {
    const int stage = i % kStages;
    shared.full[stage].wait(i / kStages % 2);
    begin_products();
    multiply_tiles(result, shared.a[stage], shared.b[stage]);
    wait_for_products<0>();
    __syncwarp();
    if (lane == 0) shared.empty[stage].arrive();
  }
  hold(result);
  store_rows(result, job.out + blockIdx.x * kRows * kRows);
}

extern "C" int multiply_matrices(const __half* a, const __half* b, __half* out, int rows, int depth,
                                 cudaStream_t stream) {
  if (rows < 1 || rows % kRows != 0 || depth < 1 || depth % kDepth != 0) return cudaErrorInvalidValue;
  Job job{{}, {}, out, depth / kDepth};
  const TensorShape a_shape{1, 1, rows, depth, int64_t{rows} * depth, int64_t{rows} * depth, depth};
  const TensorShape b_shape{1, 1, kRows, depth, int64_t{kRows} * depth, int64_t{kRows} * depth, depth};
  if (const cudaError_t e = make_tensor_map(job.a, a, a_shape, kRows, false)) return e;
  if (const cudaError_t e = make_tensor_map(job.b, b, b_shape, kRows, false)) return e;
  product_kernel<<<rows / kRows, 160, 0, stream>>>(job);
  return cudaGetLastError();
}
