// A helper allocates scratch memory and returns early when there is nothing to do, past its cudaFree.
#include "verdict.cuh"

__global__ void add_scratch(float* x, const float* scratch, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += scratch[i];
}

int add_offsets(float* x, int n, float offset) {
  float* scratch = nullptr;
  cudaMalloc(&scratch, 1024 * sizeof(float));  // expect: leak
#ifdef FIXED
  if (offset == 0.0f) return cudaFree(scratch);
#else
  if (offset == 0.0f) return cudaSuccess;
#endif
  const std::vector<float> offsets(n, offset);
  cudaMemcpy(scratch, offsets.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  add_scratch<<<(n + 127) / 128, 128>>>(x, scratch, n);
  return cudaFree(scratch);
}

int main() {
  const int n = 1000;
  const std::vector<float> x = small_numbers(n);
  float* device_x = to_device(x);
  add_offsets(device_x, n, 4.0f);
  add_offsets(device_x, n, 0.0f);
  const std::vector<float> y = to_host(device_x, n);
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && y[i] == x[i] + 4.0f;
  cudaFree(device_x);
  return verdict(right);
}
