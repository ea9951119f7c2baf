// Clears a buffer with the length of the other one. Both were allocated one after the other, so on hardware
// the overrun silently wipes the neighbour.
#include "verdict.cuh"

__global__ void clear(int* buffer, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) buffer[i] = 0;  // expect: memory
}

int main() {
  const int small_count = 128, large_count = 512;
  int* scratch = to_device(std::vector<int>(small_count, 9));
  int* weights = to_device(std::vector<int>(large_count, 5));
#ifdef FIXED
  clear<<<2, 256>>>(scratch, small_count);
#else
  clear<<<2, 256>>>(scratch, large_count);
#endif
  const std::vector<int> kept = to_host(weights, large_count);
  const std::vector<int> cleared = to_host(scratch, small_count);
  bool right = true;
  for (int value : kept) right = right && value == 5;
  for (int value : cleared) right = right && value == 0;
  cudaFree(scratch);
  cudaFree(weights);
  return verdict(right);
}
