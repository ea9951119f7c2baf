// One warp that copies tiles and multiplies them, with the wait in different places. Every copy is 16 bytes a
// lane: 512 a tile.
#include <mma.h>

#include <cstdint>
#include <cstdio>

#include "cp_async.cuh"

namespace wmma = nvcuda::wmma;

constexpr int kTiles = 5, kTile = 256;  // halves

struct Warp {
  const __half* from;
  __half (*stages)[kTile];
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;

  __device__ void begin(int tile) {
    copy_16_bytes_or_zeros_async(stages[tile % 2] + 8 * threadIdx.x,
                                 from + kTile * (tile % kTiles) + 8 * threadIdx.x, tile < kTiles);
  }
  __device__ void multiply(int tile) {
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
    wmma::load_matrix_sync(a, stages[tile % 2], 16);
    wmma::load_matrix_sync(b, stages[tile % 2], 16);
    wmma::mma_sync(sum, a, b, sum);
    __syncwarp();
  }
};

// The next tile travels beside the products of this one. Behind the last there is nothing but zeros.
__device__ void double_buffered(Warp& warp) {
  warp.begin(0);
  commit_copies();
  for (int tile = 0; tile < kTiles; ++tile) {
    warp.begin(tile + 1);
    commit_copies();
    wait_for_copies<1>();
    warp.multiply(tile);
  }
  wait_for_copies<0>();
}

// Two stages, and a wait that leaves nothing on its way.
__device__ void waits_for_all(Warp& warp) {
  warp.begin(0);
  commit_copies();
  for (int tile = 0; tile < kTiles; ++tile) {
    warp.begin(tile + 1);
    commit_copies();
    wait_for_copies<0>();
    warp.multiply(tile);
  }
}

__device__ void waits_at_once(Warp& warp) {
  for (int tile = 0; tile < kTiles; ++tile) {
    warp.begin(tile);
    wait_for_all_copies();
    warp.multiply(tile);
  }
}

// A copy travels from its beginning on: when it is committed does not matter.
__device__ void commits_late(Warp& warp) {
  warp.begin(0);
  wait_for_all_copies();
  for (int tile = 0; tile < kTiles; ++tile) {
    warp.begin(tile + 1);
    warp.multiply(tile);
    commit_copies();
    wait_for_copies<0>();
  }
}

// Groups without copies are nothing to wait for.
__device__ void empty_groups(Warp& warp) {
  for (int tile = 0; tile < kTiles; ++tile) {
    commit_copies();
    warp.multiply(0);
    wait_for_copies<0>();
  }
}

template <void (*kWork)(Warp&)>
__global__ void multiplies(const __half* from, float* out) {
  __shared__ __align__(32) __half stages[2][kTile];
  for (int i = threadIdx.x; i < 2 * kTile; i += 32) stages[0][i] = __half(0.f);
  __syncwarp();
  Warp warp{from, stages};
  wmma::fill_fragment(warp.sum, 0);
  kWork(warp);
  wmma::store_matrix_sync(out, warp.sum, 16, wmma::mem_row_major);
}

int main() {
  __half* from = nullptr;
  float* out = nullptr;
  cudaMalloc(&from, kTiles * kTile * sizeof(__half));
  cudaMalloc(&out, kTile * sizeof(float));
  cudaMemset(from, 0, kTiles * kTile * sizeof(__half));
  multiplies<double_buffered><<<1, 32>>>(from, out);
  multiplies<waits_for_all><<<1, 32>>>(from, out);
  multiplies<waits_at_once><<<1, 32>>>(from, out);
  multiplies<commits_late><<<1, 32>>>(from, out);
  multiplies<empty_groups><<<1, 32>>>(from, out);
  const cudaError_t error = cudaDeviceSynchronize();
  cudaFree(from);
  cudaFree(out);
  std::puts(cudaGetErrorName(error));
}
