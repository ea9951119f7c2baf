// Each thread counts remainders in a private array that is never set to zero.
#include "verdict.cuh"

constexpr int kClasses = 8;

__global__ void count_classes(const int* x, int* counts, int per_thread) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
  int local[kClasses] = {};
#else
  int local[kClasses];
#endif
  for (int k = 0; k < per_thread; ++k) {
    ++local[x[thread * per_thread + k] % kClasses];  // expect: init
  }
  for (int c = 0; c < kClasses; ++c) atomicAdd(&counts[c], local[c]);  // expect: init
}

int main() {
  const int threads = 64, per_thread = 24;
  const int n = threads * per_thread;
  std::vector<int> x(n), expected(kClasses, 0);
  for (int i = 0; i < n; ++i) {
    x[i] = i * 5 / 3;
    ++expected[x[i] % kClasses];
  }
  int* device_x = to_device(x);
  int* device_counts = device_zeros<int>(kClasses);
  count_classes<<<2, 32>>>(device_x, device_counts, per_thread);
  const bool right = to_host(device_counts, kClasses) == expected;
  cudaFree(device_x);
  cudaFree(device_counts);
  return verdict(right);
}
