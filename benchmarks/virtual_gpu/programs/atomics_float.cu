// Atomic additions of float, double, half2 and bfloat16 pairs, and a float maximum through integers. The
// summands are small whole numbers: every partial sum is exact, so the order does not matter.
// also for: 80
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "check.cuh"

constexpr int kThreads = 64, kBlocks = 4, kBins = 8;

// Non-negative floats are ordered like their bit patterns, negative ones the other way round.
__device__ void atomic_max(float* address, float value) {
  if (!signbit(value)) {
    atomicMax(reinterpret_cast<int*>(address), __float_as_int(value));
  } else {
    atomicMin(reinterpret_cast<unsigned*>(address), __float_as_uint(value));
  }
}

__global__ void accumulate(const int* in, float* floats, double* doubles, __half2* halves,
                           __nv_bfloat162* brains, float* maxima, float* shared_sums) {
  __shared__ float float_bins[kBins];
  __shared__ double double_bins[kBins];
  __shared__ __half2 half_bins[kBins];
  if (threadIdx.x < kBins) {
    float_bins[threadIdx.x] = 0;
    double_bins[threadIdx.x] = 0;
    half_bins[threadIdx.x] = __float2half2_rn(0.0f);
  }
  __syncthreads();
  const int x = in[blockIdx.x * kThreads + threadIdx.x], bin = (x & 0xff) % kBins;
  atomicAdd(floats + bin, static_cast<float>(x));
  atomicAdd(doubles + bin, x * 0.125);
  atomicAdd(halves + bin, __floats2half2_rn(static_cast<float>(x), static_cast<float>(-x)));
  atomicAdd(brains + bin, __floats2bfloat162_rn(1.0f, 2.0f));
  atomic_max(maxima + bin, static_cast<float>(x) * 1.5f);
  atomicAdd(float_bins + bin, static_cast<float>(x));
  atomicAdd(double_bins + bin, x * 0.5);
  atomicAdd(half_bins + bin, __floats2half2_rn(static_cast<float>(x), 1.0f));
  __syncthreads();
  if (threadIdx.x < kBins) {
    float* sums = shared_sums + (blockIdx.x * kBins + threadIdx.x) * 4;
    sums[0] = float_bins[threadIdx.x];
    sums[1] = static_cast<float>(double_bins[threadIdx.x]);
    sums[2] = __low2float(half_bins[threadIdx.x]);
    sums[3] = __high2float(half_bins[threadIdx.x]);
  }
}

int main() {
  Report report("atomics_float");
  constexpr int kAll = kThreads * kBlocks;
  Random random(19);
  std::vector<int> in(kAll);
  for (int& value : in) value = random.below(41) - 20;
  std::vector<float> sums(kBins, 0), maxima(kBins, -INFINITY), shared_sums(kBlocks * kBins * 4, 0),
      pairs(4 * kBins, 0);
  std::vector<double> doubles(kBins, 0);
  for (int i = 0; i < kAll; ++i) {
    const int x = in[i], bin = (x & 0xff) % kBins;
    sums[bin] += static_cast<float>(x);
    doubles[bin] += x * 0.125;
    maxima[bin] = std::fmax(maxima[bin], static_cast<float>(x) * 1.5f);
    pairs[4 * bin + 0] += static_cast<float>(x);
    pairs[4 * bin + 1] -= static_cast<float>(x);
    pairs[4 * bin + 2] += 1;
    pairs[4 * bin + 3] += 2;
    float* local = &shared_sums[(i / kThreads * kBins + bin) * 4];
    local[0] += static_cast<float>(x);
    local[1] += static_cast<float>(x) * 0.5f;
    local[2] += static_cast<float>(x);
    local[3] += 1;
  }
  DeviceBuffer<int> input(in);
  DeviceBuffer<float> float_out(kBins), max_out(std::vector<float>(kBins, -INFINITY)),
      shared_out(shared_sums.size());
  DeviceBuffer<double> double_out(kBins);
  DeviceBuffer<__half2> half_out(kBins);
  DeviceBuffer<__nv_bfloat162> brain_out(kBins);
  float_out.fill_bytes(0);
  double_out.fill_bytes(0);
  half_out.fill_bytes(0);
  brain_out.fill_bytes(0);
  accumulate<<<kBlocks, kThreads>>>(input.get(), float_out.get(), double_out.get(), half_out.get(),
                                    brain_out.get(), max_out.get(), shared_out.get());
  LAUNCHED_OK();
  // A sum of 0 may come out as either zero; adding 0 makes it the positive one.
  std::vector<float> pairs_out;
  const std::vector<__half2> halves = half_out.download();
  const std::vector<__nv_bfloat162> brains = brain_out.download();
  for (int bin = 0; bin < kBins; ++bin) {
    pairs_out.push_back(__low2float(halves[bin]) + 0.0f);
    pairs_out.push_back(__high2float(halves[bin]) + 0.0f);
    pairs_out.push_back(__low2float(brains[bin]));
    pairs_out.push_back(__high2float(brains[bin]));
  }
  report.equal("floats", float_out.download(), sums);
  report.equal("doubles", double_out.download(), doubles);
  report.equal("pairs", pairs_out, pairs);
  report.equal("maxima", max_out.download(), maxima);
  report.equal("shared", shared_out.download(), shared_sums);
  return report.finish();
}
