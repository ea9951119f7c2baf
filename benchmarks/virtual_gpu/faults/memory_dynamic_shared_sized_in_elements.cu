// Asks for `threads` bytes of dynamic shared memory where `threads * sizeof(float)` were meant: three
// quarters of the threads store past its end.
#include "verdict.cuh"

__global__ void rotate_block(const float* x, float* y) {
  extern __shared__ float tile[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = x[i];  // expect: memory
  __syncthreads();
  const unsigned source = (threadIdx.x + 1) % blockDim.x;
#ifndef FIXED
  if (source >= blockDim.x / sizeof(float)) return;  // one finding is enough: read only what fits
#endif
  y[i] = tile[source];
}

int main() {
  const int threads = 256, n = 2 * threads;
  const std::vector<float> x = small_numbers(n);
  float* device_x = to_device(x);
  float* device_y = device_zeros<float>(n);
#ifdef FIXED
  const size_t shared_bytes = threads * sizeof(float);
#else
  const size_t shared_bytes = threads;
#endif
  rotate_block<<<2, threads, shared_bytes>>>(device_x, device_y);
  const std::vector<float> y = to_host(device_y, n);
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && y[i] == x[i / threads * threads + (i + 1) % threads];
  cudaFree(device_x);
  cudaFree(device_y);
  return verdict(right);
}
