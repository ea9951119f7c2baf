// Swaps two buffers between steps and loses track of which is which: after the odd number of swaps the
// clean-up frees the same buffer twice and never frees the other.
#include <utility>

#include "verdict.cuh"

__global__ void add_one(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + 1.0f;
}

int main() {
  const int n = 256, steps = 3;
  const std::vector<float> start = small_numbers(n);
  float* current = to_device(start);
  float* next = device_zeros<float>(n);
  float* const other_buffer = next;
  for (int step = 0; step < steps; ++step) {
    add_one<<<1, n>>>(current, next, n);
    std::swap(current, next);
  }
  const std::vector<float> result = to_host(current, n);
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && result[i] == start[i] + static_cast<float>(steps);
  cudaFree(current);
#ifdef FIXED
  cudaFree(next);
  (void)other_buffer;
#else
  cudaFree(other_buffer);  // expect: memory
  cudaGetLastError();      // the refused free is the point of this program, not its exit status
#endif
  return verdict(right);
}
