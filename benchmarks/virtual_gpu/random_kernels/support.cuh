// What every file of random kernels shares: where a thread's numbers come from, how numbers become bits, and
// a main() that launches each kernel and prints a digest of what it wrote.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int kBlocks = 2, kMostThreads = 128, kTable = 64;

struct Memory {
  const uint32_t* table;  // kTable words
  uint64_t* sums;         // one word per bucket and operation, zero before each launch
  uint4* scratch;         // one per thread
  uint64_t* out;          // one per thread
};

__device__ __forceinline__ uint32_t mixed(uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

// Every fourth number is one at which arithmetic changes its ways.
__device__ __forceinline__ uint32_t start_u(uint32_t seed) {
  const uint32_t x = mixed(seed);
  if (x & 3) return mixed(x);
  const uint32_t shift = x >> 2 & 31;
  switch (x >> 7 & 7) {
    case 0:
      return 0;
    case 1:
      return ~0u;
    case 2:
      return 1u << shift;
    case 3:
      return (1u << shift) - 1;
    case 4:
      return 0x7f800000u | (x & 0x80000000u);  // infinity
    case 5:
      return x >> 9;  // a subnormal float
    case 6:
      return 0x3f800000u + (x >> 28);  // just above one
    default:
      return 0x80000000u;
  }
}

__device__ __forceinline__ uint64_t start_l(uint32_t seed) {
  return uint64_t(start_u(seed)) << 32 | start_u(seed + 0x51ed27u);
}

// The payload of a NaN is not defined: one stands for all.
__device__ __forceinline__ uint32_t bits_f(float x) {
  return x != x ? 0x7fc00000u : __float_as_uint(x);
}
__device__ __forceinline__ uint64_t bits_d(double x) {
  return x != x ? 0x7ff8000000000000ull : uint64_t(__double_as_longlong(x));
}
__device__ __forceinline__ uint16_t bits_h(uint16_t x) {
  return (x & 0x7fff) > 0x7c00 ? 0x7e00 : x;
}
__device__ __forceinline__ uint16_t bits_b(uint16_t x) {
  return (x & 0x7fff) > 0x7f80 ? 0x7fc0 : x;
}
__device__ __forceinline__ uint32_t bits_x(uint32_t x) {
  return bits_h(uint16_t(x)) | uint32_t(bits_h(uint16_t(x >> 16))) << 16;
}
__device__ __forceinline__ uint32_t bits_y(uint32_t x) {
  return bits_b(uint16_t(x)) | uint32_t(bits_b(uint16_t(x >> 16))) << 16;
}
__device__ __forceinline__ uint32_t bits_u(uint32_t x) {
  return x;
}
__device__ __forceinline__ uint64_t bits_l(uint64_t x) {
  return x;
}
__device__ __forceinline__ uint16_t bits_w(uint16_t x) {
  return x;
}

__device__ __forceinline__ float from_bits_f(uint32_t x) {
  return __uint_as_float(x);
}
__device__ __forceinline__ double from_bits_d(uint64_t x) {
  return __longlong_as_double(int64_t(x));
}
__device__ __forceinline__ uint16_t from_bits_h(uint16_t x) {
  return x;
}
__device__ __forceinline__ uint16_t from_bits_b(uint16_t x) {
  return x;
}
__device__ __forceinline__ uint32_t from_bits_x(uint32_t x) {
  return x;
}
__device__ __forceinline__ uint32_t from_bits_y(uint32_t x) {
  return x;
}

// Numbers of both signs with exponents near zero.
__device__ __forceinline__ float moderate_f(uint32_t x) {
  return __uint_as_float((x & 0x87ffffffu) + 0x3c000000u);
}
__device__ __forceinline__ double moderate_d(uint32_t x) {
  const uint64_t high = (x & 0x80ffffffu) + 0x3f800000u;
  return __longlong_as_double(int64_t(high << 32 | mixed(x)));
}
__device__ __forceinline__ uint16_t moderate_h(uint32_t x) {
  return uint16_t((x & 0x9fffu) + 0x2c00u);
}
__device__ __forceinline__ uint16_t moderate_b(uint32_t x) {
  return uint16_t((x & 0x87ffu) + 0x3c00u);
}
__device__ __forceinline__ uint32_t moderate_x(uint32_t x) {
  return (x & 0x9fff9fffu) + 0x2c002c00u;
}
__device__ __forceinline__ uint32_t moderate_y(uint32_t x) {
  return (x & 0x87ff87ffu) + 0x3c003c00u;
}

__device__ __forceinline__ uint64_t folded(uint64_t sum, uint64_t value) {
  sum = (sum ^ value) * 0x9e3779b97f4a7c15ull;
  return sum ^ (sum >> 29);
}

// The lane of `mask` that stands at place `n`, counted round.
__device__ __forceinline__ int lane_of(uint32_t mask, uint32_t n) {
  n %= uint32_t(__popc(mask));
  for (uint32_t i = 0; i < n; ++i) mask &= mask - 1;
  return __ffs(int(mask)) - 1;
}

using Kernel = void (*)(Memory);
struct Entry {
  int number, threads;
  Kernel kernel;
};

inline void good(cudaError_t status, const char* what, int number) {
  if (status == cudaSuccess) return;
  std::printf("kernel %d: %s: %s\n", number, what, cudaGetErrorString(status));
  std::exit(1);
}

constexpr int kSums = 64;

inline int run_all(const std::vector<Entry>& entries) {
  constexpr size_t kOut = kBlocks * kMostThreads;
  Memory memory;
  uint32_t* table;
  std::vector<uint32_t> numbers(kTable);
  for (uint32_t i = 0; i < kTable; ++i) numbers[i] = (i * 2654435761u) ^ (i << 7);
  good(cudaMalloc(&table, kTable * sizeof(uint32_t)), "cudaMalloc", -1);
  good(cudaMemcpy(table, numbers.data(), kTable * sizeof(uint32_t), cudaMemcpyHostToDevice), "cudaMemcpy",
       -1);
  memory.table = table;
  good(cudaMalloc(&memory.sums, kSums * sizeof(uint64_t)), "cudaMalloc", -1);
  good(cudaMalloc(&memory.scratch, kOut * sizeof(uint4)), "cudaMalloc", -1);
  good(cudaMalloc(&memory.out, kOut * sizeof(uint64_t)), "cudaMalloc", -1);
  for (const Entry& entry : entries) {
    std::vector<uint64_t> out(kBlocks * entry.threads), sums(kSums);
    good(cudaMemset(memory.sums, 0, kSums * sizeof(uint64_t)), "cudaMemset", entry.number);
    entry.kernel<<<kBlocks, entry.threads>>>(memory);
    good(cudaGetLastError(), "the launch", entry.number);
    const size_t bytes = out.size() * sizeof(uint64_t);
    good(cudaMemcpy(out.data(), memory.out, bytes, cudaMemcpyDeviceToHost), "the kernel", entry.number);
    good(cudaMemcpy(sums.data(), memory.sums, kSums * sizeof(uint64_t), cudaMemcpyDeviceToHost), "cudaMemcpy",
         entry.number);
    uint32_t digest = 0x811c9dc5u;  // FNV-1a
    const auto add = [&digest](uint64_t value) {
      for (int i = 0; i < 64; i += 8) digest = (digest ^ uint32_t(value >> i & 255)) * 0x01000193u;
    };
    for (uint64_t value : out) add(value);
    for (uint64_t value : sums) add(value);
    std::printf("%d %08x\n", entry.number, digest);
    if (std::getenv("RANDOM_KERNELS_THREADS")) {
      for (size_t i = 0; i < out.size(); ++i)
        std::printf("  thread %zu: %016llx\n", i, static_cast<unsigned long long>(out[i]));
    }
  }
  good(cudaFree(table), "cudaFree", -1);
  good(cudaFree(memory.sums), "cudaFree", -1);
  good(cudaFree(memory.scratch), "cudaFree", -1);
  good(cudaFree(memory.out), "cudaFree", -1);
  return 0;
}
