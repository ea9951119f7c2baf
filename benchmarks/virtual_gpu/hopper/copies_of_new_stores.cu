// Ordinary stores to device memory that the copy engine reads in the same launch, with the proxy fence on
// either side of what orders them, inside a block and between blocks.
#include <cooperative_groups.h>

#include "../programs/check.cuh"
#include "instructions.cuh"

namespace cg = cooperative_groups;
using namespace hopper;

constexpr int kTile = 256, kTileBytes = kTile * 4, kTiles = 6, kThreads = 128;

__device__ void fence_both() {
  asm volatile("fence.proxy.async;" ::: "memory");
}
__device__ void start(uint64_t* barriers, int count) {
  if (threadIdx.x == 0) {
    for (int i = 0; i < count; ++i) barrier_init(&barriers[i], 1);
    fence_barrier_init();
  }
  __syncthreads();
}
__device__ void bring(int* tile, const int* from, uint64_t* full) {
  arrive_expect(full, kTileBytes);
  copy_in(tile, from, kTileBytes, full);
}

// Who writes fences, in one round for device memory alone, in the next for both spaces.
__global__ void writers_fence(const int* in, int* scratch, int* out) {
  __shared__ __align__(128) int tile[kTile];
  __shared__ uint64_t full;
  start(&full, 1);
  for (int i = 0; i < kTiles; ++i) {
    for (int k = threadIdx.x; k < kTile; k += kThreads) scratch[k] = in[i * kTile + k] + 1;
    if (i % 2)
      fence_async_global();
    else
      fence_both();
    __syncthreads();
    if (threadIdx.x == 0) bring(tile, scratch, &full);
    wait(&full, i & 1);
    for (int k = threadIdx.x; k < kTile; k += kThreads) out[i * kTile + k] = tile[k];
    __syncthreads();
  }
}

// The thread that copies fences, behind the barrier.
__global__ void copier_fences(const int* in, int* scratch, int* out) {
  __shared__ __align__(128) int tile[kTile];
  __shared__ uint64_t full;
  start(&full, 1);
  for (int i = 0; i < kTiles; ++i) {
    for (int k = threadIdx.x; k < kTile; k += kThreads) scratch[k] = in[i * kTile + k] + 2;
    __syncthreads();
    if (threadIdx.x == 32) {
      fence_async_global();
      bring(tile, scratch, &full);
    }
    wait(&full, i & 1);
    for (int k = threadIdx.x; k < kTile; k += kThreads) out[i * kTile + k] = tile[k];
    __syncthreads();
  }
}

// One lane writes, a thread of another warp fences, one of a third warp copies; mbarriers order them.
__global__ void third_fences(const int* in, int* scratch, int* out) {
  __shared__ __align__(128) int tile[kTile];
  __shared__ uint64_t barriers[3];
  uint64_t *const full = &barriers[0], *const written = &barriers[1], *const fenced = &barriers[2];
  start(barriers, 3);
  for (int i = 0; i < kTiles; ++i) {
    if (threadIdx.x == 7) {
      for (int k = 0; k < kTile; ++k) scratch[i * kTile + k] = in[i * kTile + k] + 3;
      arrive(written);
    } else if (threadIdx.x == 40) {
      wait(written, i & 1);
      fence_async_global();
      arrive(fenced);
    } else if (threadIdx.x == 96) {
      wait(fenced, i & 1);
      bring(tile, scratch + i * kTile, full);
    }
    __syncwarp();
    wait(full, i & 1);
    for (int k = threadIdx.x; k < kTile; k += kThreads) out[i * kTile + k] = tile[k];
    __syncthreads();
  }
}

// A block writes slots of a ring, another one copies them in; flags go both ways. The block that writes
// fences in even rounds, the one that copies in odd ones.
__global__ void between_blocks(const int* in, int* slots, unsigned* flags, int* out) {
  __shared__ __align__(128) int tile[kTile];
  __shared__ uint64_t full;
  unsigned *const written = &flags[0], *const taken = &flags[1];
  start(&full, 1);
  for (int i = 0; i < kTiles; ++i) {
    int* const slot = slots + i % 2 * kTile;
    if (blockIdx.x == 0) {
      if (threadIdx.x == 0 && i >= 2) {
        while (atomicAdd(taken, 0u) < static_cast<unsigned>(i - 1)) {
        }
        __threadfence();
      }
      __syncthreads();
      for (int k = threadIdx.x; k < kTile; k += kThreads) slot[k] = in[i * kTile + k] + 4;
      if (i % 2 == 0) fence_async_global();
      __syncthreads();
      __threadfence();
      if (threadIdx.x == 0) atomicAdd(written, 1u);
    } else {
      if (threadIdx.x == 0) {
        while (atomicAdd(written, 0u) <= static_cast<unsigned>(i)) {
        }
        __threadfence();
        if (i % 2) fence_async_global();
        bring(tile, slot, &full);
      }
      __syncwarp();
      wait(&full, i & 1);
      for (int k = threadIdx.x; k < kTile; k += kThreads) out[i * kTile + k] = tile[k];
      __syncthreads();
      if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(taken, 1u);
      }
    }
  }
}

// All blocks write, meet, and copy what their neighbour wrote.
__global__ void whole_grid(const int* in, int* scratch, int* out) {
  __shared__ __align__(128) int tile[kTile];
  __shared__ uint64_t full;
  start(&full, 1);
  for (int k = threadIdx.x; k < kTile; k += kThreads)
    scratch[blockIdx.x * kTile + k] = in[blockIdx.x * kTile + k] + 5;
  fence_async_global();
  cg::this_grid().sync();
  const int neighbour = (blockIdx.x + 1) % gridDim.x;
  if (threadIdx.x == 0) bring(tile, scratch + neighbour * kTile, &full);
  wait(&full, 0);
  for (int k = threadIdx.x; k < kTile; k += kThreads) out[neighbour * kTile + k] = tile[k];
}

// Stores beside what is copied, in the same array: nothing is missing.
__global__ void beside(int* values, int* out) {
  __shared__ __align__(128) int tile[kTile];
  __shared__ uint64_t full;
  start(&full, 1);
  for (int i = 0; i + 1 < kTiles; i += 2) {
    for (int k = threadIdx.x; k < kTile; k += kThreads) values[i * kTile + k] = -1;
    __syncthreads();
    if (threadIdx.x == 0) bring(tile, values + (i + 1) * kTile, &full);
    wait(&full, i / 2 & 1);
    for (int k = threadIdx.x; k < kTile; k += kThreads) {
      out[i * kTile + k] = tile[k];
      out[(i + 1) * kTile + k] = tile[k] + 1;
    }
    __syncthreads();
  }
}

int main() {
  Report report("copies_of_new_stores");
  Random random(134);
  std::vector<int> values(kTiles * kTile), want(values.size());
  for (int& value : values) value = random.below(10000);
  DeviceBuffer<int> in(values), scratch(values.size()), out(values.size());
  DeviceBuffer<unsigned> flags(std::vector<unsigned>(2, 0));
  auto expect = [&](const char* what, auto&& of) {
    LAUNCHED_OK();
    for (int i = 0; i < kTiles * kTile; ++i) want[i] = of(i);
    report.equal(what, out.download(), want);
    out.fill_bytes(0);
  };
  writers_fence<<<1, kThreads>>>(in.get(), scratch.get(), out.get());
  expect("writers fence", [&](int i) { return values[i] + 1; });
  copier_fences<<<1, kThreads>>>(in.get(), scratch.get(), out.get());
  expect("copier fences", [&](int i) { return values[i] + 2; });
  third_fences<<<1, kThreads>>>(in.get(), scratch.get(), out.get());
  expect("third fences", [&](int i) { return values[i] + 3; });
  between_blocks<<<2, kThreads>>>(in.get(), scratch.get(), flags.get(), out.get());
  expect("between blocks", [&](int i) { return values[i] + 4; });
  const int* from = in.get();
  int *middle = scratch.get(), *to = out.get();
  void* arguments[] = {&from, &middle, &to};
  CUDA_OK(cudaLaunchCooperativeKernel(whole_grid, dim3(kTiles), dim3(kThreads), arguments));
  expect("whole grid", [&](int i) { return values[i] + 5; });
  beside<<<1, kThreads>>>(in.get(), out.get());
  expect("beside", [&](int i) { return values[(i / kTile | 1) * kTile + i % kTile] + i / kTile % 2; });
  return report.finish();
}
