// Scales values in [0, 1] to 64 bins; the value 1 itself falls into bin 64, one past the last counter.
#include "verdict.cuh"

constexpr int kBins = 64;

__global__ void histogram(const float* x, int* bins, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
#ifdef FIXED
  const int bin = min(static_cast<int>(x[i] * kBins), kBins - 1);
#else
  const int bin = static_cast<int>(x[i] * kBins);
#endif
  atomicAdd(&bins[bin], 1);  // expect: memory
}

int main() {
  const int n = 1025;
  std::vector<float> x(n);
  for (int i = 0; i < n; ++i) x[i] = static_cast<float>(i) / 1024.0f;
  float* device_x = to_device(x);
  int* device_bins = device_zeros<int>(kBins);
  histogram<<<(n + 255) / 256, 256>>>(device_x, device_bins, n);
  const std::vector<int> bins = to_host(device_bins, kBins);
  bool right = true;
  for (int bin = 0; bin < kBins; ++bin) right = right && bins[bin] == (bin == kBins - 1 ? 17 : 16);
  cudaFree(device_x);
  cudaFree(device_bins);
  return verdict(right);
}
