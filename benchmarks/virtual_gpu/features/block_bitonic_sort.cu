// 512 numbers sorted in shared memory by one block of 256 threads.
#include <algorithm>

#include "../programs/check.cuh"

constexpr unsigned kCount = 512;

__global__ void sort_block(int* values) {
  __shared__ int tile[kCount];
  for (unsigned i = threadIdx.x; i < kCount; i += blockDim.x) tile[i] = values[blockIdx.x * kCount + i];
  for (unsigned size = 2; size <= kCount; size *= 2) {
    for (unsigned step = size / 2; step > 0; step /= 2) {
      __syncthreads();
      const unsigned low = 2 * threadIdx.x - (threadIdx.x & (step - 1)), high = low + step;
      const bool up = (low & size) == 0;
      const int a = tile[low], b = tile[high];
      if ((a > b) == up) {
        tile[low] = b;
        tile[high] = a;
      }
    }
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < kCount; i += blockDim.x) values[blockIdx.x * kCount + i] = tile[i];
}

int main() {
  Report report("block_bitonic_sort");
  Random random(40);
  std::vector<int> values(3 * kCount);
  for (int& value : values) value = random.below(100000) - 50000;
  DeviceBuffer<int> device(values);
  sort_block<<<3, kCount / 2>>>(device.get());
  LAUNCHED_OK();
  for (unsigned i = 0; i < 3; ++i) std::sort(values.begin() + i * kCount, values.begin() + (i + 1) * kCount);
  report.equal("sorted", device.download(), values);
  return report.finish();
}
