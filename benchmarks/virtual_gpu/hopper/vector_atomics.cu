// Atomic sums of several floats or halves at once, in global memory: each element on its own, and what was
// there before comes back as a vector.
#include <cuda_fp16.h>

#include "../programs/check.cuh"

constexpr int kThreads = 256, kCells = 16;

// Every thread adds to one cell of each kind; whole numbers, so that any order has the same sums.
__global__ void add(float4* fours, float2* twos, float* before) {
  const int cell = threadIdx.x % kCells;
  atomicAdd(fours + cell, make_float4(1, 2, 3, static_cast<float>(threadIdx.x)));
  const float2 old = atomicAdd(twos + cell, make_float2(1, -1));
  before[2 * threadIdx.x] = old.x;
  before[2 * threadIdx.x + 1] = old.y;
}

__global__ void add_halves(__half* eights, __half2* pairs) {
  const int cell = threadIdx.x % kCells;
  const uint16_t one = 0x3c00, two = 0x4000;
  asm volatile("red.global.add.noftz.v8.f16 [%0], {%1, %2, %1, %2, %1, %2, %1, %2};" ::"l"(eights + 8 * cell),
               "h"(one), "h"(two)
               : "memory");
  asm volatile("red.relaxed.gpu.global.add.noftz.v2.f16x2 [%0], {%1, %2};" ::"l"(pairs + 2 * cell),
               "r"(0x40003c00u), "r"(0x3c00c000u)
               : "memory");
}

int main() {
  Report report("vector_atomics");
  constexpr int kAdders = kThreads / kCells;
  DeviceBuffer<float4> fours(kCells);
  DeviceBuffer<float2> twos(kCells);
  DeviceBuffer<float> before(2 * kThreads);
  fours.fill_bytes(0);
  twos.fill_bytes(0);
  add<<<1, kThreads>>>(fours.get(), twos.get(), before.get());
  LAUNCHED_OK();
  const std::vector<float4> sums = fours.download();
  const std::vector<float> seen = before.download();
  for (int cell = 0; cell < kCells; ++cell) {
    float numbers = 0;
    bool held[2][kAdders] = {};
    for (int i = cell; i < kThreads; i += kCells) {
      numbers += static_cast<float>(i);
      for (int element = 0; element < 2; ++element) {
        const int first = static_cast<int>(element == 0 ? seen[2 * i] : -seen[2 * i + 1]);
        report.check(first >= 0 && first < kAdders && !held[element][first], "each old value is seen once");
        if (first >= 0 && first < kAdders) held[element][first] = true;
      }
    }
    const float4 sum = sums[cell];
    report.check(sum.x == kAdders && sum.y == 2 * kAdders && sum.z == 3 * kAdders && sum.w == numbers,
                 "four sums at once");
  }
  const std::vector<float2> pairs_of_floats = twos.download();
  for (const float2& sum : pairs_of_floats)
    report.check(sum.x == kAdders && sum.y == -kAdders, "two sums at once");

  DeviceBuffer<__half> eights(8 * kCells);
  DeviceBuffer<__half2> pairs(2 * kCells);
  eights.fill_bytes(0);
  pairs.fill_bytes(0);
  add_halves<<<1, kThreads>>>(eights.get(), pairs.get());
  LAUNCHED_OK();
  const std::vector<__half> halves = eights.download();
  for (size_t i = 0; i < halves.size(); ++i)
    report.check(__half2float(halves[i]) == (i % 2 + 1) * kAdders, "eight halves at once");
  const std::vector<__half2> both = pairs.download();
  for (size_t i = 0; i < both.size(); ++i) {
    const float low = __low2float(both[i]), high = __high2float(both[i]);
    report.check(i % 2 == 0 ? low == kAdders && high == 2 * kAdders : low == -2 * kAdders && high == kAdders,
                 "two pairs of halves at once");
  }
  return report.finish();
}
