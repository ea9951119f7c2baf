// Binary searches of many keys in one sorted list: every thread takes its own way through it.
#include <algorithm>

#include "../programs/check.cuh"

__global__ void search(const int* list, int n, const int* keys, int count, int* places) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int low = 0, high = n;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (list[middle] < keys[i]) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  places[i] = low;
}

int main() {
  Report report("lower_bounds");
  Random random(41);
  std::vector<int> list(777), keys(300), want;
  for (int& value : list) value = random.below(2000);
  for (int& key : keys) key = random.below(2100) - 50;
  std::sort(list.begin(), list.end());
  for (int key : keys)
    want.push_back(static_cast<int>(std::lower_bound(list.begin(), list.end(), key) - list.begin()));
  DeviceBuffer<int> d_list(list), d_keys(keys), places(300);
  search<<<blocks_for(300, 64), 64>>>(d_list.get(), 777, d_keys.get(), 300, places.get());
  LAUNCHED_OK();
  report.equal("places", places.download(), want);
  return report.finish();
}
