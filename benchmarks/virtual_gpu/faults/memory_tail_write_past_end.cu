// Fills n values with one thread each and rounds the grid up, but forgets the guard: the last block writes
// past the end of the buffer.
#include "verdict.cuh"

__global__ void fill_ramp(float* out, float step, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
  if (i >= n) return;
#endif
  out[i] = step * static_cast<float>(i);  // expect: memory
}

int main() {
  const int n = 1000;
  const int threads = 128;
  float* out = device_zeros<float>(n);
  fill_ramp<<<(n + threads - 1) / threads, threads>>>(out, 2.0f, n);
  const std::vector<float> values = to_host(out, n);
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && values[i] == 2.0f * static_cast<float>(i);
  cudaFree(out);
  return verdict(right);
}
