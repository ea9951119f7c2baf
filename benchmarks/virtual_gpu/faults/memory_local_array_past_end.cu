// Each thread counts the digits of its number in a private array of nine counters: digit 9 has no place in
// it and is counted past the array's end.
#include "verdict.cuh"

#ifdef FIXED
constexpr int kDigits = 10;
#else
constexpr int kDigits = 9;
#endif

__global__ void most_frequent_digit(const unsigned* numbers, int* digit, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int count[kDigits] = {};
  for (unsigned rest = numbers[i]; rest != 0; rest /= 10) ++count[rest % 10];  // expect: memory
  int best = 0;
  for (int d = 1; d < kDigits; ++d) best = count[d] > count[best] ? d : best;
  digit[i] = best;
}

int main() {
  const int n = 100;
  std::vector<unsigned> numbers(n);
  std::vector<int> expected(n);
  for (int i = 0; i < n; ++i) {
    const unsigned d = i % 9 + 1;
    numbers[i] = d * 111000 + 123;
    expected[i] = static_cast<int>(d);
  }
  unsigned* device_numbers = to_device(numbers);
  int* device_digit = device_zeros<int>(n);
  most_frequent_digit<<<4, 32>>>(device_numbers, device_digit, n);
  const bool right = to_host(device_digit, n) == expected;
  cudaFree(device_numbers);
  cudaFree(device_digit);
  return verdict(right);
}
