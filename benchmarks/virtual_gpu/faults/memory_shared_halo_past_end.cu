// Stages a block in shared memory and adds each value's right neighbour, but leaves no room for the halo:
// the last thread reads past the end of the tile.
#include "verdict.cuh"

constexpr int kThreads = 128;

__global__ void add_right_neighbour(const float* x, float* y) {
#ifdef FIXED
  __shared__ float tile[kThreads + 1];
  if (threadIdx.x == 0) tile[kThreads] = 0.0f;
#else
  __shared__ float tile[kThreads];
#endif
  const int i = blockIdx.x * kThreads + threadIdx.x;
  tile[threadIdx.x] = x[i];
  __syncthreads();
  y[i] = tile[threadIdx.x] + tile[threadIdx.x + 1];  // expect: memory
}

int main() {
  const int n = 4 * kThreads;
  const std::vector<float> x = small_numbers(n);
  float* device_x = to_device(x);
  float* device_y = device_zeros<float>(n);
  add_right_neighbour<<<n / kThreads, kThreads>>>(device_x, device_y);
  const std::vector<float> y = to_host(device_y, n);
  bool right = true;
  for (int i = 0; i < n; ++i) {
    const bool last = i % kThreads == kThreads - 1;
    right = right && y[i] == x[i] + (last ? 0.0f : x[i + 1]);
  }
  cudaFree(device_x);
  cudaFree(device_y);
  return verdict(right);
}
