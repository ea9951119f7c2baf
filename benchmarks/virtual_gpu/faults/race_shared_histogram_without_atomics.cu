// Counts letters in shared memory with ++ instead of atomicAdd: two threads that meet the same letter read
// the same old count, and one increment is lost.
#include "verdict.cuh"

constexpr int kLetters = 26;

__global__ void letter_counts(const char* text, int* counts, int n) {
  __shared__ int local[kLetters];
  if (threadIdx.x < kLetters) local[threadIdx.x] = 0;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    const int letter = text[i] - 'a';
#ifdef FIXED
    atomicAdd(&local[letter], 1);
#else
    ++local[letter];  // expect: race
#endif
  }
  __syncthreads();
  if (threadIdx.x < kLetters) atomicAdd(&counts[threadIdx.x], local[threadIdx.x]);
}

int main() {
  const int n = 1000;
  std::vector<char> text(n);
  std::vector<int> expected(kLetters, 0);
  for (int i = 0; i < n; ++i) {
    const int letter = i * i % kLetters;
    text[i] = static_cast<char>('a' + letter);
    ++expected[letter];
  }
  char* device_text = to_device(text);
  int* device_counts = device_zeros<int>(kLetters);
  letter_counts<<<4, 256>>>(device_text, device_counts, n);
  const bool right = to_host(device_counts, kLetters) == expected;
  cudaFree(device_text);
  cudaFree(device_counts);
  return verdict(right);
}
