// What the faulty programs with wgmma share: a product of 64 x 16 by 16 x 64 halves.
#pragma once

#include <cuda_fp16.h>

#include "../faults/verdict.cuh"

constexpr int kSide = 64, kDepth = 16;

// Without a swizzle: pieces of 8 rows of 16 bytes, the two pieces along k 128 bytes apart. In halves.
__host__ __device__ constexpr int half_place(int row, int k) {
  return row / 8 * 128 + k / 8 * 64 + row % 8 * 8 + k % 8;
}

__device__ inline void fill_tile(__half* tile, const __half* from) {
  for (int i = threadIdx.x; i < kSide * kDepth; i += blockDim.x)
    tile[half_place(i / kDepth, i % kDepth)] = from[i];
}

// The thread's part of the result, row-major.
__device__ inline void store_result(const uint32_t* d, float* out) {
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
  for (int i = 0; i < 32; ++i)
    out[(row + 8 * (i / 2 % 2)) * kSide + i / 4 * 8 + lane % 4 * 2 + i % 2] = __uint_as_float(d[i]);
}

// `in_tiles`: the kernel gets its matrices as they lie in shared memory.
template <class Kernel>
int run_product(Kernel kernel, int threads, bool in_tiles = false) {
  std::vector<__half> a(kSide * kDepth), b(kSide * kDepth);
  for (int i = 0; i < kSide * kDepth; ++i) {
    a[i] = __float2half(static_cast<float>(i % 7 - 3));
    b[i] = __float2half(static_cast<float>(i % 5 - 2));
  }
  const auto tile_of = [&](const std::vector<__half>& matrix) {
    std::vector<__half> tile(matrix.size());
    for (int i = 0; i < kSide * kDepth; ++i) tile[half_place(i / kDepth, i % kDepth)] = matrix[i];
    return in_tiles ? tile : matrix;
  };
  __half *device_a = to_device(tile_of(a)), *device_b = to_device(tile_of(b));
  float* out = device_zeros<float>(kSide * kSide);
  kernel<<<1, threads>>>(device_a, device_b, out);
  const std::vector<float> got = to_host(out, kSide * kSide);
  bool right = true;
  for (int row = 0; row < kSide; ++row)
    for (int column = 0; column < kSide; ++column) {
      float sum = 0;
      for (int k = 0; k < kDepth; ++k)
        sum += __half2float(a[row * kDepth + k]) * __half2float(b[column * kDepth + k]);
      right = right && got[row * kSide + column] == sum;
    }
  cudaFree(device_a);
  cudaFree(device_b);
  cudaFree(out);
  return verdict(right);
}
