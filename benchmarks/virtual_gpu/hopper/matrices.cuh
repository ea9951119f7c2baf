// Matrices of small whole numbers, whose products are exact in every order, and their reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../programs/check.cuh"

namespace hopper {

// Numbers from `low` to `high`.
template <class T>
std::vector<T> whole_numbers(Random& random, size_t count, int low, int high) {
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(static_cast<float>(low + random.below(high - low + 1)));
  return values;
}

// A has m rows and B has n rows, both of k numbers: the product of A and the transposed B.
template <class A, class B>
std::vector<float> product_of(const std::vector<A>& a, const std::vector<B>& b, int m, int n, int k) {
  std::vector<float> result(static_cast<size_t>(m) * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int at = 0; at < k; ++at)
        sum += static_cast<float>(a[i * k + at]) * static_cast<float>(b[j * k + at]);
      result[i * n + j] = sum;
    }
  return result;
}

// Where register `i` of a wgmma's 32-bit result lies in the 64 rows of its warpgroup.
__device__ inline int result_row(int i) {
  const int t = threadIdx.x % 128;
  return t / 32 * 16 + t % 32 / 4 + 8 * (i / 2 % 2);
}
__device__ inline int result_column(int i) {
  return i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
}
template <int kRegisters>
__device__ void store_result(const uint32_t (&d)[kRegisters], float* out, int pitch) {
#pragma unroll
  for (int i = 0; i < kRegisters; ++i) out[result_row(i) * pitch + result_column(i)] = __uint_as_float(d[i]);
}

}  // namespace hopper
