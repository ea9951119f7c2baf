// An assertion about the input that the input does not keep.
#include <cassert>
#include <cstdio>

__global__ void square_roots(const float* x, float* y) {
  assert(x[threadIdx.x] >= 0.0f);
  y[threadIdx.x] = sqrtf(x[threadIdx.x]);
}

int main() {
  float host[32];
  for (int i = 0; i < 32; ++i) host[i] = static_cast<float>(i - 2);
  float *x, *y;
  cudaMalloc(&x, sizeof host);
  cudaMalloc(&y, sizeof host);
  cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
  square_roots<<<1, 32>>>(x, y);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  cudaFree(x);
  cudaFree(y);
}
