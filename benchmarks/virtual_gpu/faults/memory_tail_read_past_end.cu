// Reverses each block of 256 values through shared memory. The store is guarded against the ragged tail,
// the load is not: the last block reads past the end of x.
#include "verdict.cuh"

constexpr int kThreads = 256;

__global__ void reverse_blocks(const float* x, float* y, int n) {
  __shared__ float tile[kThreads];
  const int i = blockIdx.x * kThreads + threadIdx.x;
#ifdef FIXED
  tile[threadIdx.x] = i < n ? x[i] : 0.0f;
#else
  tile[threadIdx.x] = x[i];  // expect: memory
#endif
  __syncthreads();
  if (i < n) y[i] = tile[kThreads - 1 - threadIdx.x];
}

int main() {
  const int n = 1000;
  const int blocks = (n + kThreads - 1) / kThreads;
  const std::vector<float> x = small_numbers(n);
  float* device_x = to_device(x);
  float* device_y = device_zeros<float>(n);
  reverse_blocks<<<blocks, kThreads>>>(device_x, device_y, n);
  const std::vector<float> y = to_host(device_y, n);
  bool right = true;
  for (int i = 0; i < n; ++i) {
    const int mirrored = i / kThreads * kThreads + kThreads - 1 - i % kThreads;
    right = right && y[i] == (mirrored < n ? x[mirrored] : 0.0f);
  }
  cudaFree(device_x);
  cudaFree(device_y);
  return verdict(right);
}
