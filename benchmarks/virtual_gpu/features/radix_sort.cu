// A stable radix sort of a block's keys and values, one bit at a time.
#include <algorithm>

#include "../programs/check.cuh"

constexpr int kCount = 128;

__global__ void sort_block(unsigned* keys, int* values) {
  __shared__ int zeros[kCount];
  const int i = threadIdx.x;
  unsigned* const own = keys + blockIdx.x * kCount;
  int* const own_values = values + blockIdx.x * kCount;
  for (int bit = 0; bit < 12; ++bit) {
    const unsigned key = own[i];
    const int value = own_values[i], zero = (key >> bit & 1) == 0;
    zeros[i] = zero;
    __syncthreads();
    for (int step = 1; step < kCount; step *= 2) {
      const int other = i >= step ? zeros[i - step] : 0;
      __syncthreads();
      zeros[i] += other;
      __syncthreads();
    }
    const int place = zero ? zeros[i] - 1 : zeros[kCount - 1] + i - zeros[i];
    __syncthreads();
    own[place] = key;
    own_values[place] = value;
    __syncthreads();
  }
}

int main() {
  Report report("radix_sort");
  Random random(16);
  std::vector<unsigned> keys(3 * kCount);
  std::vector<int> values(3 * kCount);
  for (int i = 0; i < 3 * kCount; ++i) {
    keys[i] = random.next32() & 0xfff;
    values[i] = i;
  }
  DeviceBuffer<unsigned> device_keys(keys);
  DeviceBuffer<int> device_values(values);
  sort_block<<<3, kCount>>>(device_keys.get(), device_values.get());
  LAUNCHED_OK();
  for (int block = 0; block < 3; ++block)
    std::stable_sort(values.begin() + block * kCount, values.begin() + (block + 1) * kCount,
                     [&](int a, int b) { return keys[a] < keys[b]; });
  std::vector<unsigned> sorted;
  for (int value : values) sorted.push_back(keys[value]);
  report.equal("keys", device_keys.download(), sorted);
  report.equal("values", device_values.download(), values);
  return report.finish();
}
