// Branches that split a warp, branches that do not, and loops whose lanes leave at different times. Each side
// stores to memory, so that the compiler cannot turn the branch into a select.
#include "buffers.cuh"

constexpr int kThreads = 128;
constexpr int kBlocks = 32;

__global__ void branch_by_lane(const int* in, int* even, int* odd) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  const int value = in[i];
  if (threadIdx.x % 2 == 0) {
    atomicAdd(&even[i / 2], value);
  } else {
    odd[i / 2] = 3 * odd[i / 2] + value;
  }
}

__global__ void branch_by_warp(const int* in, int* even, int* odd) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  const int value = in[i];
  if (threadIdx.x / 32 % 2 == 0) {
    atomicAdd(&even[i / 2], value);
  } else {
    odd[i / 2] = 3 * odd[i / 2] + value;
  }
}

__global__ void loop_by_lane(const int* in, int* out) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  int value = in[i];
#pragma unroll 1
  for (unsigned k = 0; k < threadIdx.x % 32; ++k) value = value * 5 + in[(i + k) % (kThreads * kBlocks)];
  out[i] = value;
}

__global__ void collatz_steps(int* out) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  unsigned value = i + 1;
  int steps = 0;
#pragma unroll 1
  while (value != 1) {
    value = value % 2 == 0 ? value / 2 : 3 * value + 1;
    ++steps;
  }
  out[i] = steps;
}

int main() {
  const int n = kThreads * kBlocks;
  std::vector<int> numbers(n);
  for (int i = 0; i < n; ++i) numbers[i] = i / 2;  // two lanes that store in one place store the same
  int* in = to_device(numbers);
  int* first = to_device(numbers);
  int* second = to_device(numbers);
  branch_by_lane<<<kBlocks, kThreads>>>(in, first, second);
  branch_by_warp<<<kBlocks, kThreads>>>(in, first, second);
  loop_by_lane<<<kBlocks, kThreads>>>(in, first);
  collatz_steps<<<kBlocks, kThreads>>>(first);
  return finish({in, first, second});
}
