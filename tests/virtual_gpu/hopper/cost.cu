// Kernels whose modelled time is known from what they wait for: tests/virtual_gpu/test_cost_hopper.py.
//   cost NAME COUNT   runs the kernel NAME with COUNT rounds
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mbarrier.cuh"
#include "wgmma.cuh"

constexpr int kTileBytes = 16384, kStagesMost = 4;
extern __shared__ __align__(1024) uint8_t bytes[];

__device__ void load(void* to, const void* from, int size, Barrier& barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          shared_address(to)),
      "l"(from), "r"(size), "r"(shared_address(&barrier.state))
      : "memory");
}
__device__ void store(void* to, const void* from, int size) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
               "r"(shared_address(from)), "r"(size)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// A chain of dependent multiply-adds, `links` of them.
__device__ float chain(float x, int links) {
  for (int i = 0; i < links; ++i) x = fmaf(x, 1.0001f, 1.0f);
  return x;
}

// One thread brings tiles into a ring of kStages; a warp works on each for about as long as a copy takes.
template <int kStages>
__global__ void ring(const uint8_t* from, float* out, int count) {
  __shared__ Barrier full[kStagesMost], empty[kStagesMost];
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) full[i].init(1), empty[i].init(1);
    fence_barriers();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < count; ++i) {
      empty[i % kStages].wait(i / kStages % 2 ^ 1);
      full[i % kStages].arrive_and_expect(kTileBytes);
      load(bytes + i % kStages * kTileBytes, from, kTileBytes, full[i % kStages]);
    }
  } else if (threadIdx.x >= 32) {
    float x = 0;
    for (int i = 0; i < count; ++i) {
      full[i % kStages].wait(i / kStages % 2);
      x = chain(x + bytes[i % kStages * kTileBytes + threadIdx.x], 100);
      __syncwarp();
      if (threadIdx.x == 32 && x >= 0) empty[i % kStages].arrive();  // after the work, which it depends on
    }
    out[threadIdx.x] = x;
  }
}

// All warps wait for one tile. Thread 0 asks for it after a chain of `count`.
__global__ void wait_for_one(const uint8_t* from, float* out, int count) {
  __shared__ Barrier full;
  if (threadIdx.x == 0) {
    full.init(1);
    fence_barriers();
  }
  __syncthreads();
  float x = threadIdx.x;
  if (threadIdx.x == 0) {
    x = chain(x, count);
    full.arrive_and_expect(kTileBytes + (x < 0));
    load(bytes, from, kTileBytes, full);
  }
  full.wait(0);
  out[threadIdx.x] = x + bytes[threadIdx.x];
}

// `count` products of one warpgroup, then a wait. Another warpgroup multiplies and adds, if there is one.
__global__ void __launch_bounds__(256) multiply(const uint8_t*, float* out, int count) {
  for (int i = threadIdx.x; i < 32768 / 4; i += blockDim.x) reinterpret_cast<uint32_t*>(bytes)[i] = 0;
  fence_async();
  __syncthreads();
  if (__shfl_sync(~0u, threadIdx.x / 128, 0) == 1) {
    out[threadIdx.x] = chain(threadIdx.x, 32 * count);
    return;
  }
  float d[32] = {};
  const uint64_t a = describe(bytes), b = describe(bytes + 8192);
  for (int i = 0; i < count; ++i) {
    hold(d);
    begin_products();
    for (int step = 0; step < 4; ++step) Product<64>::multiply(d, a + 2 * step, b + 2 * step, 1, __half{});
    commit_products();
    wait_for_products<0>();
    hold(d);
  }
  for (float x : d) out[threadIdx.x] += x;
}

// Two warps take turns at named barriers.
__global__ void take_turns(const uint8_t*, float* out, int count) {
  const int warp = threadIdx.x / 32;
  float x = threadIdx.x;
  for (int i = 0; i < count; ++i) {
    if (warp == 0) {
      x = chain(x, 10);
      pass(1, 64);
      meet(2, 64);
    } else {
      meet(1, 64);
      x = chain(x, 10);
      pass(2, 64);
    }
  }
  out[threadIdx.x] = x;
}

// Stores one tile after the other, each waited for.
__global__ void store_tiles(const uint8_t*, float* out, int count) {
  for (int i = threadIdx.x; i < kTileBytes / 4; i += blockDim.x) reinterpret_cast<uint32_t*>(bytes)[i] = 0;
  fence_async();
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 0; i < count; ++i) {
    store(out, bytes, kTileBytes);
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const struct {
    const char* name;
    void (*kernel)(const uint8_t*, float*, int);
    int threads;
  } kernels[] = {
      {"one_stage", ring<1>, 64},
      {"two_stages", ring<2>, 64},
      {"four_stages", ring<4>, 64},
      {"two_warps_wait", wait_for_one, 64},
      {"many_warps_wait", wait_for_one, 512},
      {"products", multiply, 128},
      {"products_and_sums", multiply, 256},
      {"turns", take_turns, 64},
      {"stores", store_tiles, 128},
  };
  uint8_t* from;
  float* out;
  cudaMalloc(&from, kTileBytes);
  cudaMalloc(&out, kTileBytes);
  cudaMemset(from, 0, kTileBytes);
  cudaMemset(out, 0, kTileBytes);
  for (const auto& k : kernels) {
    if (std::strcmp(k.name, argv[1]) != 0) continue;
    constexpr int kBytes = kStagesMost * kTileBytes;
    if (cudaFuncSetAttribute(k.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes) != cudaSuccess)
      return 1;
    k.kernel<<<1, k.threads, kBytes>>>(from, out, std::atoi(argv[2]));
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
  }
  return 2;
}
