// Groups smaller than the grid: tiles of a warp with their shuffles and votes, labeled partitions, coalesced
// lanes.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "check.cuh"

namespace cg = cooperative_groups;

constexpr int kThreads = 64, kRows = 8;

__global__ void tiles(const int* in, int* out) {
  const cg::thread_block block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const auto quarter = cg::tiled_partition<8>(warp);
  const int i = static_cast<int>(block.thread_rank()), x = in[i];
  Column<int> to{out, kThreads, i};
  int sum = x;
  for (int step = quarter.size() / 2; step > 0; step /= 2) sum += quarter.shfl_down(sum, step);
  to.put(quarter.shfl(sum, 0));
  to.put(cg::reduce(warp, x, cg::plus<int>()));
  to.put(cg::reduce(quarter, x, cg::greater<int>()));
  to.put(quarter.any(x > 90) * 2 + quarter.all(x > 5));
  to.put(static_cast<int>(quarter.ballot(x % 2 == 0)));
  to.put(static_cast<int>(quarter.meta_group_rank() * 100 + quarter.thread_rank()));
  block.sync();
  // Lanes that take the branch together form a group of their own.
  int odd_rank = -1;
  if (x % 2 != 0) {
    const cg::coalesced_group odd = cg::coalesced_threads();
    odd_rank = odd.size() > 0 ? static_cast<int>(odd.thread_rank() < odd.size()) : 0;
    odd.sync();
  }
  to.put(odd_rank);
  const auto labeled = cg::binary_partition(warp, x % 2 != 0);
  to.put(static_cast<int>(labeled.size() * 100 + labeled.thread_rank()));
}

int main() {
  Report report("cooperative_groups");
  Random random(34);
  std::vector<int> in(kThreads), want(kRows * kThreads);
  for (int& value : in) value = random.below(100);
  for (int i = 0; i < kThreads; ++i) {
    const int quarter = i / 8 * 8, warp = i / 32 * 32;
    int sum = 0, warp_sum = 0, most = 0, any = 0, all = 1, even = 0, same = 0, rank = 0;
    for (int k = quarter; k < quarter + 8; ++k) {
      sum += in[k];
      most = in[k] > most ? in[k] : most;
      any |= in[k] > 90;
      all &= in[k] > 5;
      even |= (in[k] % 2 == 0) << (k - quarter);
    }
    for (int k = warp; k < warp + 32; ++k) {
      warp_sum += in[k];
      if (in[k] % 2 == in[i] % 2) {
        ++same;
        rank += k < i;
      }
    }
    Column<int> to{want.data(), kThreads, i};
    for (int row : {sum, warp_sum, most, any * 2 + all, even, i % 32 / 8 * 100 + i % 8,
                    in[i] % 2 != 0 ? 1 : -1, same * 100 + rank}) {
      to.put(row);
    }
  }
  DeviceBuffer<int> input(in), output(kRows * kThreads);
  tiles<<<1, kThreads>>>(input.get(), output.get());
  LAUNCHED_OK();
  report.equal("tiles", output.download(), want);
  return report.finish();
}
