// A binary search that keeps `low = middle` where `low = middle + 1` was meant: once the interval has two
// elements it never gets smaller.
// hangs
#include "verdict.cuh"

__global__ void find(const int* sorted, int n, const int* keys, int* positions) {
  const int key = keys[threadIdx.x];
  int low = 0, high = n - 1;
  while (low < high) {  // expect: hang
    const int middle = (low + high) / 2;
    if (sorted[middle] < key) {  // expect: hang
#ifdef FIXED
      low = middle + 1;
#else
      low = middle;
#endif
    } else {
      high = middle;
    }
  }
  positions[threadIdx.x] = low;
}

int main() {
  const int n = 200, count = 64;
  std::vector<int> sorted(n), keys(count);
  for (int i = 0; i < n; ++i) sorted[i] = 2 * i;
  for (int i = 0; i < count; ++i) keys[i] = 6 * i;
  int* device_sorted = to_device(sorted);
  int* device_keys = to_device(keys);
  int* device_positions = device_zeros<int>(count);
  find<<<1, count>>>(device_sorted, n, device_keys, device_positions);
  const std::vector<int> positions = to_host(device_positions, count);
  bool right = true;
  for (int i = 0; i < count; ++i) right = right && positions[i] == 3 * i;
  cudaFree(device_sorted);
  cudaFree(device_keys);
  cudaFree(device_positions);
  return verdict(right);
}
