// Device code from NVIDIA's own headers: cub's block and warp algorithms, cooperative groups,
// cuda::atomic_ref.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cuda/atomic>
#include <functional>
#include <vector>

#include "../../../benchmarks/virtual_gpu/programs/check.cuh"

namespace cg = cooperative_groups;

template <int Threads>
__global__ void block_algorithms(const int* in, int* out) {
  using Reduce = cub::BlockReduce<int, Threads>;
  using Scan = cub::BlockScan<int, Threads>;
  using Sort = cub::BlockRadixSort<unsigned, Threads, 4, int>;
  __shared__ union {
    typename Reduce::TempStorage reduce;
    typename Scan::TempStorage scan;
    typename Sort::TempStorage sort;
  } shared;
  const int i = threadIdx.x;
  const int sum = Reduce(shared.reduce).Sum(in[i]);
  __syncthreads();
  int before = 0, total = 0;
  Scan(shared.scan).ExclusiveSum(in[i], before, total);
  __syncthreads();
  unsigned keys[4];
  int values[4];
  for (int k = 0; k < 4; ++k) keys[k] = (in[i] * 2654435761u) >> (4 * k), values[k] = 4 * i + k;
  Sort(shared.sort).Sort(keys, values);
  bool ordered = true;
  for (int k = 1; k < 4; ++k) ordered &= keys[k - 1] <= keys[k];
  out[i] = before * 10 + ordered;
  if (i == 0) out[Threads] = sum + total;
}

__global__ void warp_sums(const int* in, int* out) {
  using Whole = cub::WarpReduce<int>;
  using Eighth = cub::WarpReduce<int, 8>;
  __shared__ typename Whole::TempStorage whole[4];
  __shared__ typename Eighth::TempStorage eighth[16];
  const int i = threadIdx.x;
  const int sum = Whole(whole[i / 32]).Sum(in[i]);
  const int part = Eighth(eighth[i / 8]).Sum(in[i]);
  out[i] = (i % 32 == 0 ? sum : 0) + (i % 8 == 0 ? part * 1000 : 0);
}

__global__ void tiles(const int* in, int* out) {
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<8>(block);
  const auto warp = cg::tiled_partition<32>(block);
  const int i = block.thread_rank();
  const int sum = cg::reduce(tile, in[i], cg::plus<int>());
  const int most = cg::reduce(warp, in[i], cg::greater<int>());
  const int before = cg::exclusive_scan(tile, in[i]);
  int odd = 0;
  if (in[i] % 2) {
    const auto active = cg::coalesced_threads();
    odd = active.size() * 100 + active.thread_rank();
  }
  const auto kind = cg::labeled_partition(warp, in[i] % 3);
  block.sync();
  out[i] = sum + most * 100 + before * 10000 + odd + static_cast<int>(kind.size()) + tile.shfl(in[i], 3);
}

__global__ void atomic_references(int* counter, unsigned* flag, int* out) {
  cuda::atomic_ref<int, cuda::thread_scope_device> total(*counter);
  total.fetch_add(static_cast<int>(threadIdx.x), cuda::memory_order_relaxed);
  __shared__ unsigned ready;
  __shared__ int message;
  cuda::atomic_ref<unsigned, cuda::thread_scope_block> signal(ready);
  if (threadIdx.x == 0) signal.store(0, cuda::memory_order_relaxed);
  __syncthreads();
  if (threadIdx.x == 0) {
    message = 42;
    signal.store(1, cuda::memory_order_release);
  } else if (threadIdx.x >= 32) {
    while (signal.load(cuda::memory_order_acquire) == 0) {
    }
    out[threadIdx.x] = message;
  }
  if (threadIdx.x < 32) out[threadIdx.x] = 42;
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> last(*flag);
  unsigned expected = 0;
  last.compare_exchange_strong(expected, threadIdx.x + 1, cuda::memory_order_acq_rel);
}

int main() {
  Report report("tricky_library");
  std::vector<int> numbers(256);
  for (int i = 0; i < 256; ++i) numbers[i] = (i * 37 + 11) % 101;
  DeviceBuffer<int> in(numbers), out(257);
  auto check = [&](const char* name, int n, const std::function<int(int)>& expected) {
    LAUNCHED_OK();
    std::vector<int> got = out.download(), want(n);
    got.resize(n);
    for (int i = 0; i < n; ++i) want[i] = expected(i);
    report.equal(name, got, want);
  };
  auto sum = [&](int first, int count) {
    int total = 0;
    for (int i = first; i < first + count; ++i) total += numbers[i];
    return total;
  };
  out.fill_bytes(0);
  block_algorithms<128><<<1, 128>>>(in.get(), out.get());
  check("block 128", 129, [&](int i) { return i == 128 ? 2 * sum(0, 128) : 10 * sum(0, i) + 1; });
  block_algorithms<50><<<1, 50>>>(in.get(), out.get());
  check("block 50", 51, [&](int i) { return i == 50 ? 2 * sum(0, 50) : 10 * sum(0, i) + 1; });
  warp_sums<<<1, 128>>>(in.get(), out.get());
  check("warps", 128,
        [&](int i) { return (i % 32 == 0 ? sum(i, 32) : 0) + (i % 8 == 0 ? sum(i, 8) * 1000 : 0); });
  tiles<<<1, 128>>>(in.get(), out.get());
  check("tiles", 128, [&](int i) {
    const int warp = i & ~31, tile = i & ~7;
    int most = 0, odd = 0, rank = 0, same = 0;
    for (int k = warp; k < warp + 32; ++k) {
      most = numbers[k] > most ? numbers[k] : most;
      odd += numbers[k] % 2;
      if (k < i) rank += numbers[k] % 2;
      same += numbers[k] % 3 == numbers[i] % 3;
    }
    return sum(tile, 8) + most * 100 + sum(tile, i - tile) * 10000 + (numbers[i] % 2 ? odd * 100 + rank : 0) +
           same + numbers[tile + 3];
  });
  DeviceBuffer<int> counter(1);
  DeviceBuffer<unsigned> flag(1);
  counter.fill_bytes(0);
  flag.fill_bytes(0);
  atomic_references<<<2, 64>>>(counter.get(), flag.get(), out.get());
  check("messages", 64, [](int) { return 42; });
  report.equal("total", counter.download(), std::vector<int>{2 * 64 * 63 / 2});
  report.check(flag.download()[0] != 0, "a thread won the exchange");
  return report.finish();
}
