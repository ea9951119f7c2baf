// Atomics with and without a result, in global and shared memory: one address, one a warp, one a lane,
// random.
#include "buffers.cuh"

constexpr int kThreads = 256;
constexpr int kBlocks = 32;
constexpr int kCount = kThreads * kBlocks;

// Counter `i / kLanesPerCounter`: 32 lanes on one word, or fewer.
template <int kLanesPerCounter>
__global__ void add_without_result(int* counters) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  atomicAdd(&counters[i / kLanesPerCounter], static_cast<int>(threadIdx.x));
}

template <int kLanesPerCounter>
__global__ void add_with_result(int* counters, int* before) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  before[i] = atomicAdd(&counters[i / kLanesPerCounter], static_cast<int>(threadIdx.x));
}

__global__ void global_histogram(const uint32_t* values, int* bins) {
  atomicAdd(&bins[values[blockIdx.x * kThreads + threadIdx.x]], 1);
}

__global__ void compare_and_swap(const uint32_t* values, int* slots, int* seen) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  seen[i] = atomicCAS(&slots[values[i]], -1, i);
}

__global__ void float_sums(const float* x, float* sums) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  atomicAdd(&sums[i % 64], x[i]);
}

__global__ void shared_histogram(const uint32_t* values, int* bins) {
  __shared__ int local[kThreads];
  local[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&local[values[blockIdx.x * kThreads + threadIdx.x]], 1);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

__global__ void shared_one_counter(const uint32_t* values, int* total) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  if (values[blockIdx.x * kThreads + threadIdx.x] % 2) atomicAdd(&count, static_cast<int>(threadIdx.x));
  __syncthreads();
  if (threadIdx.x == 0) *total = count;
}

int main() {
  int* counters = to_device(std::vector<int>(kCount, 0));
  int* before = to_device(std::vector<int>(kCount, 0));
  uint32_t* values = to_device(scrambled(kCount, kThreads));
  float* floats = to_device(std::vector<float>(kCount, 1.0f));
  add_without_result<1><<<kBlocks, kThreads>>>(counters);
  add_without_result<4><<<kBlocks, kThreads>>>(counters);
  add_without_result<32><<<kBlocks, kThreads>>>(counters);
  add_without_result<kCount><<<kBlocks, kThreads>>>(counters);
  add_with_result<1><<<kBlocks, kThreads>>>(counters, before);
  add_with_result<32><<<kBlocks, kThreads>>>(counters, before);
  global_histogram<<<kBlocks, kThreads>>>(values, counters);
  compare_and_swap<<<kBlocks, kThreads>>>(values, counters, before);
  float_sums<<<kBlocks, kThreads>>>(floats, reinterpret_cast<float*>(before));
  shared_histogram<<<kBlocks, kThreads>>>(values, counters);
  shared_one_counter<<<kBlocks, kThreads>>>(values, before);
  return finish({counters, before, values, floats});
}
