// Tiles of 4, 8 and 16 threads: ranks, reductions, scans and shuffles inside each.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "../programs/check.cuh"

namespace cg = cooperative_groups;

template <int kSize>
__device__ void in_tiles(const int* in, int* out) {
  const auto tile = cg::tiled_partition<kSize>(cg::this_thread_block());
  const int value = in[threadIdx.x];
  out[threadIdx.x] = cg::reduce(tile, value, cg::plus<int>());
  out[64 + threadIdx.x] = cg::inclusive_scan(tile, value, cg::plus<int>());
  out[128 + threadIdx.x] = cg::exclusive_scan(tile, value, cg::greater<int>());
  out[192 + threadIdx.x] = tile.shfl(value, tile.size() - 1) + static_cast<int>(tile.meta_group_rank());
}

__global__ void tiles(const int* in, int* out) {
  in_tiles<4>(in, out);
  in_tiles<8>(in, out + 256);
  in_tiles<16>(in, out + 512);
}

int main() {
  Report report("group_tiles");
  Random random(7);
  std::vector<int> values(64), want;
  for (int& value : values) value = random.below(100) + 1;
  for (int size : {4, 8, 16}) {
    std::vector<int> sums, scans, largest, lasts;
    for (int i = 0; i < 64; ++i) {
      const int begin = i / size * size;
      int sum = 0, scan = 0, top = INT32_MIN;
      for (int j = begin; j < begin + size; ++j) {
        sum += values[j];
        if (j <= i) scan += values[j];
        if (j < i && values[j] > top) top = values[j];
      }
      sums.push_back(sum);
      scans.push_back(scan);
      largest.push_back(top);
      lasts.push_back(values[begin + size - 1] + i / size);
    }
    for (const auto& part : {sums, scans, largest, lasts}) want.insert(want.end(), part.begin(), part.end());
  }
  DeviceBuffer<int> input(values), output(want.size());
  tiles<<<1, 64>>>(input.get(), output.get());
  LAUNCHED_OK();
  std::vector<int> got = output.download();
  for (int size = 0; size < 3; ++size)  // the first of an exclusive scan is not defined for this operation
    for (int i = 0; i < 64; i += 4 << size) got[256 * size + 128 + i] = want[256 * size + 128 + i] = 0;
  report.equal("tiles", got, want);
  return report.finish();
}
