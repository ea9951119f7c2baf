// Subset sums in the order of Gray codes: each thread walks its own part of all subsets.
#include "../programs/check.cuh"

constexpr int kItems = 14, kThreads = 128, kEach = (1 << kItems) / kThreads;

__global__ void count(const int* items, int target, int* total) {
  int own[kItems];
  for (int i = 0; i < kItems; ++i) own[i] = items[i];
  const unsigned first = threadIdx.x * kEach, code = first ^ first >> 1;
  int sum = 0, found = 0;
  for (int i = 0; i < kItems; ++i) sum += code >> i & 1 ? own[i] : 0;
  for (unsigned n = first; n < first + kEach; ++n) {
    found += sum == target;
    const unsigned next = (n + 1) ^ (n + 1) >> 1;
    const int bit = __ffs(static_cast<int>((n + 1) & (0u - (n + 1)))) - 1;
    if (bit < kItems) sum += next >> bit & 1 ? own[bit] : -own[bit];
  }
  atomicAdd(total, found);
}

int main() {
  Report report("gray_codes");
  Random random(56);
  std::vector<int> items(kItems);
  for (int& item : items) item = 1 + random.below(30);
  int want = 0;
  for (int set = 0; set < 1 << kItems; ++set) {
    int sum = 0;
    for (int i = 0; i < kItems; ++i) sum += set >> i & 1 ? items[i] : 0;
    want += sum == 77;
  }
  DeviceBuffer<int> input(items), total(1);
  total.fill_bytes(0);
  count<<<1, kThreads>>>(input.get(), 77, total.get());
  LAUNCHED_OK();
  report.equal("subsets", total.download(), {want});
  return report.finish();
}
