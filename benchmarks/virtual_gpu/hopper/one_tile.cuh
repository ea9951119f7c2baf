// One product of a warpgroup: rows of 128 bytes along k are put into shared memory with the swizzle of 128
// bytes, multiplied in steps of 32 bytes along k, and the registers of the result go out.
#pragma once

#include "../programs/check.cuh"
#include "matrices.cuh"
#include "wgmma.cuh"

namespace hopper {

constexpr int kTileRows = 64, kTileBytes = 128, kStepBytes = 32;

// `Form` has kColumns and multiply(d, a, b, adds).
template <class Form>
__global__ void one_tile(const uint8_t* a, const uint8_t* b, uint32_t* out) {
  __shared__ __align__(1024) uint8_t a_tile[kTileRows * kTileBytes];
  __shared__ __align__(1024) uint8_t b_tile[Form::kColumns * kTileBytes];
  for (int i = threadIdx.x; i < kTileRows * kTileBytes; i += blockDim.x)
    a_tile[swizzled(i, kTileBytes)] = a[i];
  for (int i = threadIdx.x; i < Form::kColumns * kTileBytes; i += blockDim.x)
    b_tile[swizzled(i, kTileBytes)] = b[i];
  fence_async();
  __syncthreads();
  uint32_t d[Form::kColumns / 2];
  products_fence();
  for (int at = 0; at < kTileBytes; at += kStepBytes)
    Form::multiply(d, descriptor(a_tile + at, 16, 8 * kTileBytes, 1),
                   descriptor(b_tile + at, 16, 8 * kTileBytes, 1), at > 0);
  products_commit();
  products_wait();
#pragma unroll
  for (int i = 0; i < Form::kColumns / 2; ++i) out[result_row(i) * Form::kColumns + result_column(i)] = d[i];
}

// Runs it on whole numbers. `Sum` is float or int.
template <class Form, class A, class B, class Sum>
void check_tile(Report& report, const char* name, Random& random, int low, int high) {
  const int depth = kTileBytes / sizeof(A), columns = Form::kColumns;
  const std::vector<A> a = whole_numbers<A>(random, kTileRows * depth, low, high);
  const std::vector<B> b = whole_numbers<B>(random, columns * depth, low, high);
  const DeviceBuffer<A> device_a(a);
  const DeviceBuffer<B> device_b(b);
  const DeviceBuffer<uint32_t> out(kTileRows * columns);
  one_tile<Form><<<1, 128>>>(reinterpret_cast<const uint8_t*>(device_a.get()),
                             reinterpret_cast<const uint8_t*>(device_b.get()), out.get());
  LAUNCHED_OK();
  std::vector<Sum> want, got;
  for (const float value : product_of(a, b, kTileRows, columns, depth))
    want.push_back(static_cast<Sum>(value));
  for (const uint32_t bits : out.download()) got.push_back(bit_cast<Sum>(bits));
  report.equal(name, got, want);
}

#define WGMMA_FORM(name, columns, call)                                                      \
  struct name {                                                                              \
    static constexpr int kColumns = columns;                                                 \
    static __device__ void multiply(uint32_t* d, uint64_t a, uint64_t b, int adds) { call; } \
  }

}  // namespace hopper
