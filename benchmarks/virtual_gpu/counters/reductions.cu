// Sums of a vector: a shared-memory tree, the classic divergent tree, and shuffles with one partial a warp.
#include "buffers.cuh"

constexpr int kThreads = 256;
constexpr int kBlocks = 64;

__global__ void tree_reduction(const float* x, float* sums) {
  __shared__ float partial[kThreads];
  partial[threadIdx.x] = x[blockIdx.x * kThreads + threadIdx.x];
  __syncthreads();
#pragma unroll 1
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

__global__ void divergent_tree_reduction(const float* x, float* sums) {
  __shared__ float partial[kThreads];
  partial[threadIdx.x] = x[blockIdx.x * kThreads + threadIdx.x];
  __syncthreads();
#pragma unroll 1
  for (unsigned step = 1; step < kThreads; step *= 2) {
    if (threadIdx.x % (2 * step) == 0) partial[threadIdx.x] += partial[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

__device__ float warp_sum(float value) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffff, value, distance);
  return value;
}

__global__ void shuffle_reduction(const float* x, float* sums) {
  __shared__ float partial[kThreads / 32];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const float sum = warp_sum(x[blockIdx.x * kThreads + threadIdx.x]);
  if (lane == 0) partial[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    const float total = warp_sum(lane < kThreads / 32 ? partial[lane] : 0.0f);
    if (lane == 0) sums[blockIdx.x] = total;
  }
}

int main() {
  float* x = to_device(std::vector<float>(kThreads * kBlocks, 1.0f));
  float* sums = to_device(std::vector<float>(kBlocks, 0.0f));
  tree_reduction<<<kBlocks, kThreads>>>(x, sums);
  divergent_tree_reduction<<<kBlocks, kThreads>>>(x, sums);
  shuffle_reduction<<<kBlocks, kThreads>>>(x, sums);
  return finish({x, sums});
}
