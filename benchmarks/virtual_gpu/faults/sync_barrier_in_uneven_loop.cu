// Every thread walks its own list and meets the others at a barrier once a step. The lists differ in length,
// so threads with a short list leave the loop while the rest still wait inside.
#include "verdict.cuh"

constexpr int kThreads = 64;

__global__ void walk(const int* lengths, int* finished) {
  __shared__ int active;
  const int t = threadIdx.x;
  const int length = lengths[t];
  if (t == 0) active = 0;
  __syncthreads();
#ifdef FIXED
  const int steps = kThreads;
#else
  const int steps = length;
#endif
  for (int step = 0; step < steps; ++step) {
    if (step == length - 1) atomicAdd(&active, 1);
    __syncthreads();  // expect: sync
  }
#ifdef FIXED
  if (t == 0) *finished = active;
#else
  if (length == kThreads) *finished = active;
#endif
}

int main() {
  std::vector<int> lengths(kThreads);
  for (int i = 0; i < kThreads; ++i) lengths[i] = i + 1;
  int* device_lengths = to_device(lengths);
  int* device_finished = device_zeros<int>(1);
  walk<<<1, kThreads>>>(device_lengths, device_finished);
  const bool right = to_host(device_finished, 1)[0] == kThreads;
  cudaFree(device_lengths);
  cudaFree(device_finished);
  return verdict(right);
}
