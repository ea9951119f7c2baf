// Threads beyond the end return at once, as in any elementwise kernel. Here a barrier follows, and a barrier
// is for every thread of the block.
#include "verdict.cuh"

constexpr int kThreads = 128;

__global__ void differences(const int* x, int* y, int n) {
  __shared__ int tile[kThreads];
  const int t = threadIdx.x;
  const int i = blockIdx.x * kThreads + t;
#ifdef FIXED
  tile[t] = i < n ? x[i] : 0;
  __syncthreads();
  if (i >= n) return;
#else
  if (i >= n) return;
  tile[t] = x[i];
  __syncthreads();  // expect: sync
#endif
  y[i] = t > 0 ? tile[t] - tile[t - 1] : tile[t];
}

int main() {
  const int n = 300;
  std::vector<int> x(n);
  for (int i = 0; i < n; ++i) x[i] = i * i;
  int* device_x = to_device(x);
  int* device_y = device_zeros<int>(n);
  differences<<<3, kThreads>>>(device_x, device_y, n);
  const std::vector<int> y = to_host(device_y, n);
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && y[i] == (i % kThreads ? x[i] - x[i - 1] : x[i]);
  cudaFree(device_x);
  cudaFree(device_y);
  return verdict(right);
}
