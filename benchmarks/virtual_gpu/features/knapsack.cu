// The knapsack problem: one launch per item, two rows of the table in turn.
#include <algorithm>

#include "../programs/check.cuh"

__global__ void item(const int* before, int* after, int room, int weight, int value) {
  const int w = blockIdx.x * blockDim.x + threadIdx.x;
  if (w > room) return;
  int best = before[w];
  if (w >= weight) best = max(best, before[w - weight] + value);
  after[w] = best;
}

int main() {
  Report report("knapsack");
  constexpr int kRoom = 500, kItems = 20;
  Random random(30);
  std::vector<int> best(kRoom + 1);
  DeviceBuffer<int> a(kRoom + 1), b(kRoom + 1);
  a.fill_bytes(0);
  for (int i = 0; i < kItems; ++i) {
    const int weight = 1 + random.below(80), value = 1 + random.below(100);
    item<<<blocks_for(kRoom + 1, 128), 128>>>((i % 2 == 0 ? a : b).get(), (i % 2 == 0 ? b : a).get(), kRoom,
                                              weight, value);
    for (int w = kRoom; w >= weight; --w) best[w] = std::max(best[w], best[w - weight] + value);
  }
  LAUNCHED_OK();
  report.equal("best", a.download(), best);
  return report.finish();
}
