// What bulk stores have written is read in the same launch, behind a wait for the whole of their groups: by
// other threads, by another copy, by the block that comes last; and stores that nobody reads need none.
#include "../programs/check.cuh"
#include "instructions.cuh"

using namespace hopper;

constexpr int kTile = 256, kTileBytes = kTile * 4, kTiles = 8, kThreads = 128;

__device__ void load_tile(int* tile, const int* from, uint64_t* barrier, uint32_t parity) {
  if (threadIdx.x == 0) {
    arrive_expect(barrier, kTileBytes);
    copy_in(tile, from, kTileBytes, barrier);
  }
  wait(barrier, parity);
}

__device__ void start(uint64_t* barrier) {
  if (threadIdx.x == 0) {
    barrier_init(barrier, 1);
    fence_barrier_init();
  }
  __syncthreads();
}

// Two tiles are under way; the older one is read while the newer one still goes out.
__global__ void ring(const int* in, int* scratch, int* out) {
  __shared__ __align__(128) int tile[2][kTile];
  for (int i = 0; i <= kTiles; ++i) {
    if (i < kTiles) {
      for (int k = threadIdx.x; k < kTile; k += kThreads) tile[i % 2][k] = in[i * kTile + k] + 1;
      fence_async();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      if (i < kTiles) copy_out(scratch + i * kTile, tile[i % 2], kTileBytes);
      commit();
      wait_writes<1>();
    }
    __syncthreads();
    for (int k = threadIdx.x; i >= 1 && k < kTile; k += kThreads)
      out[(i - 1) * kTile + k] = scratch[(i - 1) * kTile + kTile - 1 - k];
  }
  if (threadIdx.x == 0) wait_writes();
}

// A persistent block changes its tiles in place: each is loaded once and stored once, and only their places
// in shared memory are waited for.
__global__ void in_place(int* values) {
  __shared__ __align__(128) int tile[2][kTile];
  __shared__ uint64_t full[2];
  if (threadIdx.x == 0) {
    barrier_init(&full[0], 1);
    barrier_init(&full[1], 1);
    fence_barrier_init();
  }
  __syncthreads();
  int round = 0;
  for (int i = blockIdx.x; i < kTiles; i += gridDim.x, ++round) {
    const int s = round % 2;
    if (threadIdx.x == 0) {
      wait_reads<1>();
      arrive_expect(&full[s], kTileBytes);
      copy_in(tile[s], values + i * kTile, kTileBytes, &full[s]);
    }
    wait(&full[s], round / 2 & 1);
    for (int k = threadIdx.x; k < kTile; k += kThreads) tile[s][k] *= 3;
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
      copy_out(values + i * kTile, tile[s], kTileBytes);
      commit();
    }
  }
  if (threadIdx.x == 0) wait_reads();
}

// Out, and in again by the copy engine: both ways are of one proxy, and the wait alone orders them.
__global__ void there_and_back(const int* in, int* scratch, int* out) {
  __shared__ __align__(128) int tile[kTile], back[kTile];
  __shared__ uint64_t full;
  start(&full);
  for (int i = 0; i < kTiles; ++i) {
    for (int k = threadIdx.x; k < kTile; k += kThreads) tile[k] = in[i * kTile + k] - 5;
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
      copy_out(scratch, tile, kTileBytes);
      commit();
      wait_writes();
    }
    load_tile(back, scratch, &full, i & 1);
    for (int k = threadIdx.x; k < kTile; k += kThreads) out[i * kTile + k] = back[k];
    __syncthreads();
  }
}

// Split-K: every block adds its part by a bulk reduction, and the one that comes last doubles the sum.
__global__ void add_and_finish(const int* in, int* sum, unsigned* count, int* out) {
  __shared__ __align__(128) int tile[kTile];
  __shared__ bool last;
  for (int k = threadIdx.x; k < kTile; k += kThreads) tile[k] = in[blockIdx.x * kTile + k];
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;" ::"l"(sum),
                 "r"(shared_address(tile)), "r"(kTileBytes)
                 : "memory");
    commit();
    wait_writes();
    __threadfence();
    last = atomicAdd(count, 1u) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!last) return;
  for (int k = threadIdx.x; k < kTile; k += kThreads) out[k] = 2 * sum[k];
}

// Each warp sends out and reads back a quarter of its own.
__global__ void by_warp(const int* in, int* scratch, int* out) {
  __shared__ __align__(128) int tile[kTile];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, begin = warp * kTile / 4;
  for (int i = 0; i < kTiles; ++i) {
    for (int k = lane; k < kTile / 4; k += 32) tile[begin + k] = in[i * kTile + begin + k] * 2;
    fence_async();
    __syncwarp();
    if (lane == 0) {
      copy_out(scratch + i * kTile + begin, tile + begin, kTileBytes / 4);
      commit();
      wait_writes();
    }
    __syncwarp();
    for (int k = lane; k < kTile / 4; k += 32)
      out[i * kTile + begin + k] = scratch[i * kTile + begin + k] + 1;
    __syncwarp();
  }
}

int main() {
  Report report("stores_read_back");
  Random random(133);
  std::vector<int> values(kTiles * kTile), want(values.size());
  for (int& value : values) value = random.below(10000);
  DeviceBuffer<int> in(values), scratch(values.size()), out(values.size());
  auto expect = [&](const char* what, auto&& of) {
    LAUNCHED_OK();
    for (int i = 0; i < kTiles * kTile; ++i) want[i] = of(i);
    report.equal(what, out.download(), want);
  };
  ring<<<1, kThreads>>>(in.get(), scratch.get(), out.get());
  expect("ring", [&](int i) { return values[i / kTile * kTile + kTile - 1 - i % kTile] + 1; });
  there_and_back<<<1, kThreads>>>(in.get(), scratch.get(), out.get());
  expect("there and back", [&](int i) { return values[i] - 5; });
  by_warp<<<1, kThreads>>>(in.get(), scratch.get(), out.get());
  expect("by warp", [&](int i) { return values[i] * 2 + 1; });
  out.upload(values);
  in_place<<<2, kThreads>>>(out.get());
  expect("in place", [&](int i) { return values[i] * 3; });
  DeviceBuffer<int> sum(std::vector<int>(kTile, 0));
  DeviceBuffer<unsigned> count(std::vector<unsigned>(1, 0));
  add_and_finish<<<kTiles, kThreads>>>(in.get(), sum.get(), count.get(), out.get());
  expect("sum", [&](int i) {
    if (i >= kTile) return values[i] * 3;  // as they were
    int total = 0;
    for (int t = 0; t < kTiles; ++t) total += values[t * kTile + i];
    return 2 * total;
  });
  return report.finish();
}
