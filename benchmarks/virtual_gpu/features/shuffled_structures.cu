// Structures and wide values through shuffles, word by word; lanes out of range keep their own.
#include "../programs/check.cuh"

struct Item {
  int key;
  float weight;
  long long tag;
};

__device__ Item from_lane(const Item& own, int lane) {
  return {__shfl_sync(~0u, own.key, lane), __shfl_sync(~0u, own.weight, lane),
          __shfl_sync(~0u, own.tag, lane)};
}

__global__ void shuffle(const Item* in, Item* out, double* sums) {
  const int lane = threadIdx.x;
  const Item own = in[lane];
  out[lane] = from_lane(own, (lane * 7 + 3) % 32);
  double sum = own.weight;
  for (int step = 1; step < 32; step *= 2) {
    const double other = __shfl_up_sync(~0u, sum, step);
    if (lane >= step) sum += other;
  }
  sums[lane] = sum + __shfl_down_sync(~0u, static_cast<double>(own.key), 5, 8);
}

int main() {
  Report report("shuffled_structures");
  std::vector<Item> items(32);
  for (int i = 0; i < 32; ++i) items[i] = {i * 11, 0.5f * static_cast<float>(i), (1ll << 40) + i};
  DeviceBuffer<Item> input(items), output(32);
  DeviceBuffer<double> sums(32);
  shuffle<<<1, 32>>>(input.get(), output.get(), sums.get());
  LAUNCHED_OK();
  const std::vector<Item> got = output.download();
  std::vector<double> want;
  double sum = 0;
  for (int i = 0; i < 32; ++i) {
    const Item& from = items[(i * 7 + 3) % 32];
    report.check(got[i].key == from.key && got[i].weight == from.weight && got[i].tag == from.tag, "an item");
    sum += items[i].weight;
    want.push_back(sum + items[i % 8 + 5 < 8 ? i + 5 : i].key);
  }
  report.equal("sums", sums.download(), want);
  return report.finish();
}
