// Copies into other blocks of a cluster, again and again into the same places, each with another answer to
// the question when a neighbour has read: its arrivals, its own copies back, the cluster's barrier, a flag.
#include "../programs/check.cuh"
#include "cluster.cuh"

using namespace hopper;

constexpr int kTile = 256, kTileBytes = kTile * 4, kTiles = 8, kStages = 2, kThreads = 160;

__device__ void copy_to_blocks(void* to, const void* from, uint32_t bytes, uint64_t* full, uint16_t blocks) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, "
      "[%3], %4;" ::"r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(full)), "h"(blocks)
      : "memory");
}
__device__ void copy_to_block(uint32_t to, const void* from, uint32_t bytes, uint32_t full) {
  asm volatile(
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          to),
      "r"(shared_address(from)), "r"(bytes), "r"(full)
      : "memory");
}

// Four blocks, each with a producer that brings a quarter of a tile to all. A lane of each reading warp tells
// all producers.
__global__ void __cluster_dims__(4, 1, 1) quarters(const int* in, int* out) {
  __shared__ __align__(128) int tile[kStages][kTile];
  __shared__ uint64_t full[kStages], empty[kStages];
  const int rank = cluster_rank();
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      barrier_init(&full[s], 1);
      barrier_init(&empty[s], 16);
    }
    fence_barrier_init();
  }
  cluster_sync();
  if (threadIdx.x >= 128) {
    for (int i = 0; i < kTiles && threadIdx.x == 128; ++i) {
      const int s = i % kStages;
      wait_in_cluster(&empty[s], (i / kStages & 1) ^ 1);
      arrive_expect(&full[s], kTileBytes);
      copy_to_blocks(&tile[s][rank * kTile / 4], in + i * kTile + rank * kTile / 4, kTileBytes / 4, &full[s],
                     15);
    }
  } else {
    for (int i = 0; i < kTiles; ++i) {
      const int s = i % kStages;
      wait_in_cluster(&full[s], i / kStages & 1);
      for (int k = threadIdx.x; k < kTile; k += 128)
        if (k % 4 == rank) out[i * kTile + k] = tile[s][k] + 1;
      __syncwarp();
      if (threadIdx.x % 32 < 4) arrive_in_cluster(in_block(&empty[s], threadIdx.x % 32));
    }
  }
  __syncwarp();
  cluster_sync();
}

// One producer for two blocks; in the other block all threads meet first, and one tells it.
__global__ void __cluster_dims__(2, 1, 1) one_producer(const int* in, int* out) {
  __shared__ __align__(128) int tile[kTile];
  __shared__ uint64_t full, empty;
  const int rank = cluster_rank();
  if (threadIdx.x == 0) {
    barrier_init(&full, 1);
    barrier_init(&empty, 2);
    fence_barrier_init();
  }
  cluster_sync();
  for (int i = 0; i < kTiles; ++i) {
    if (threadIdx.x == 0) {
      arrive_expect(&full, kTileBytes);
      if (rank == 0) {
        wait_in_cluster(&empty, (i & 1) ^ 1);
        copy_to_blocks(tile, in + i * kTile, kTileBytes, &full, 3);
      }
    }
    __syncwarp();
    wait_in_cluster(&full, i & 1);
    for (int k = threadIdx.x; k < kTile; k += kThreads)
      if (k % 2 == rank) out[i * kTile + k] = tile[k] + 2;
    __syncthreads();
    if (threadIdx.x == 0) arrive_in_cluster(in_block(&empty, 0));
  }
  cluster_sync();
}

// Tiles go to the neighbour and come back changed: each copy says that the one before it has been read.
__global__ void __cluster_dims__(2, 1, 1) ping_pong(const int* in, int* out) {
  __shared__ __align__(128) int mine[kTile], inbox[kTile];
  __shared__ uint64_t full;
  const int rank = cluster_rank(), other = 1 - rank;
  if (threadIdx.x == 0) {
    barrier_init(&full, 1);
    fence_barrier_init();
  }
  cluster_sync();
  for (int i = 0; i < kTiles; ++i) {
    if (threadIdx.x == 0) arrive_expect(&full, kTileBytes);
    if (rank == 1) wait_in_cluster(&full, i & 1);
    for (int k = threadIdx.x; k < kTile; k += kThreads)
      mine[k] = rank == 0 ? in[i * kTile + k] : 3 * inbox[k];
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) copy_to_block(in_block(inbox, other), mine, kTileBytes, in_block(&full, other));
    if (rank == 1) continue;  // what has gone out has been read when the answer to it comes
    wait_in_cluster(&full, i & 1);
    for (int k = threadIdx.x; k < kTile; k += kThreads) out[i * kTile + k] = inbox[k];
    __syncthreads();
  }
  cluster_sync();
}

// The whole cluster meets in each round.
__global__ void __cluster_dims__(2, 1, 1) rounds(const int* in, int* out) {
  __shared__ __align__(128) int tile[kTile];
  __shared__ uint64_t full;
  const int rank = cluster_rank();
  if (threadIdx.x == 0) {
    barrier_init(&full, 1);
    fence_barrier_init();
  }
  cluster_sync();
  for (int i = 0; i < kTiles; ++i) {
    if (threadIdx.x == 0) {
      arrive_expect(&full, kTileBytes);
      copy_to_blocks(tile + rank * kTile / 2, in + i * kTile + rank * kTile / 2, kTileBytes / 2, &full, 3);
    }
    wait_in_cluster(&full, i & 1);
    for (int k = threadIdx.x; k < kTile; k += kThreads)
      if (k % 2 == rank) out[i * kTile + k] = tile[k] + 4;
    cluster_sync();
  }
}

// The reader raises a flag in device memory.
__global__ void __cluster_dims__(2, 1, 1) by_flag(const int* in, unsigned* flag, int* out) {
  __shared__ __align__(128) int tile[kTile];
  __shared__ uint64_t full;
  const int rank = cluster_rank();
  if (threadIdx.x == 0) {
    barrier_init(&full, 1);
    fence_barrier_init();
  }
  cluster_sync();
  for (int i = 0; i < kTiles; ++i) {
    if (rank == 0) {
      if (threadIdx.x == 0) {
        while (atomicAdd(flag, 0u) < static_cast<unsigned>(i)) {
        }
        __threadfence();
        copy_to_blocks(tile, in + i * kTile, kTileBytes, &full, 2);
      }
    } else {
      if (threadIdx.x == 0) arrive_expect(&full, kTileBytes);
      wait_in_cluster(&full, i & 1);
      for (int k = threadIdx.x; k < kTile; k += kThreads) out[i * kTile + k] = tile[k] + 5;
      __syncthreads();
      if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(flag, 1u);
      }
    }
  }
  __syncthreads();
  cluster_sync();
}

int main() {
  Report report("cluster_rings");
  Random random(136);
  std::vector<int> values(kTiles * kTile), want(values.size());
  for (int& value : values) value = random.below(10000);
  DeviceBuffer<int> in(values), out(values.size());
  DeviceBuffer<unsigned> flag(std::vector<unsigned>(1, 0));
  auto expect = [&](const char* what, auto&& of) {
    LAUNCHED_OK();
    for (int i = 0; i < kTiles * kTile; ++i) want[i] = of(values[i]);
    report.equal(what, out.download(), want);
    out.fill_bytes(0);
  };
  quarters<<<4, kThreads>>>(in.get(), out.get());
  expect("quarters", [](int v) { return v + 1; });
  one_producer<<<2, kThreads>>>(in.get(), out.get());
  expect("one producer", [](int v) { return v + 2; });
  ping_pong<<<2, kThreads>>>(in.get(), out.get());
  expect("ping pong", [](int v) { return 3 * v; });
  rounds<<<2, kThreads>>>(in.get(), out.get());
  expect("rounds", [](int v) { return v + 4; });
  by_flag<<<2, kThreads>>>(in.get(), flag.get(), out.get());
  expect("by flag", [](int v) { return v + 5; });
  return report.finish();
}
