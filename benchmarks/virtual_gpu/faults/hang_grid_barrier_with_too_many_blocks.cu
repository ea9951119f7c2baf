// A hand-made barrier for the whole grid. It needs all blocks resident at once; with more blocks than the
// GPU can hold, the resident ones wait for blocks that cannot start.
// hangs
#include "verdict.cuh"

constexpr int kThreads = 64;

__global__ void sum_then_scale(const int* x, int* y, int* total, int* arrived, int n) {
  const int stride = gridDim.x * kThreads;
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < n; i += stride) atomicAdd(total, x[i]);
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1);
    while (atomicAdd(arrived, 0) < gridDim.x) {  // expect: hang
    }
    __threadfence();
  }
  __syncthreads();
  const int sum = *reinterpret_cast<volatile int*>(total);
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < n; i += stride) y[i] = x[i] * sum;
}

int main() {
  const int shared_bytes = 160 * 1024;  // so much that one block fills a multiprocessor
  int blocks = 2000;
  int n = blocks * kThreads;
  std::vector<int> x(n);
  int expected = 0;
  for (int i = 0; i < n; ++i) expected += x[i] = i % 3;
  int* device_x = to_device(x);
  int* device_y = device_zeros<int>(n);
  int* total = device_zeros<int>(1);
  int* arrived = device_zeros<int>(1);
  cudaFuncSetAttribute(sum_then_scale, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
#ifdef FIXED
  // A cooperative launch promises that the blocks are resident together, and refuses a grid too large.
  blocks = 4;
  void* arguments[] = {&device_x, &device_y, &total, &arrived, &n};
  cudaLaunchCooperativeKernel(sum_then_scale, dim3(blocks), dim3(kThreads), arguments, shared_bytes, nullptr);
#else
  sum_then_scale<<<dim3(blocks), dim3(kThreads), shared_bytes>>>(device_x, device_y, total, arrived, n);
#endif
  const std::vector<int> y = to_host(device_y, n);
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && y[i] == x[i] * expected;
  cudaFree(device_x);
  cudaFree(device_y);
  cudaFree(total);
  cudaFree(arrived);
  return verdict(right);
}
