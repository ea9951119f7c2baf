// Functions that call themselves, to different depths in the threads of one warp.
#include "../programs/check.cuh"

__host__ __device__ __noinline__ int ackermann(int m, int n) {
  if (m == 0) return n + 1;
  return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

__host__ __device__ __noinline__ int moves(int discs) {
  return discs == 0 ? 0 : 2 * moves(discs - 1) + 1;
}

__global__ void recurse(int* out) {
  const int i = threadIdx.x;
  out[i] = ackermann(i % 3, i % 5);
  out[32 + i] = moves(i % 12);
}

int main() {
  Report report("device_recursion");
  CUDA_OK(cudaDeviceSetLimit(cudaLimitStackSize, 16 << 10));
  DeviceBuffer<int> output(64);
  recurse<<<1, 32>>>(output.get());
  LAUNCHED_OK();
  std::vector<int> want(64);
  for (int i = 0; i < 32; ++i) {
    want[i] = ackermann(i % 3, i % 5);
    want[32 + i] = moves(i % 12);
  }
  report.equal("values", output.download(), want);
  return report.finish();
}
