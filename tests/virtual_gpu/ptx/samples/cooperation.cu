// Cooperative groups, clusters, cuda::barrier, atomics: deep chains of inlined library code.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <cuda/atomic>
#include <cuda/barrier>

namespace cg = cooperative_groups;

__global__ void grid_and_tiles(int* p) {
  const auto grid = cg::this_grid();
  p[grid.thread_rank()] = 1;
  grid.sync();
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  const int sum = cg::reduce(tile, p[threadIdx.x], cg::plus<int>());
  if (cg::coalesced_threads().thread_rank() == 0) p[0] = sum;
}

__global__ void __cluster_dims__(2, 1, 1) clusters(int* p) {
  const auto cluster = cg::this_cluster();
  __shared__ int value;
  value = threadIdx.x;
  cluster.sync();
  p[threadIdx.x] = *cluster.map_shared_rank(&value, 1);
  cluster.sync();
}

__global__ void asynchronous_copy(float* p) {
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ float staged[128];
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(staged + threadIdx.x, p + threadIdx.x, sizeof(float), barrier);
  barrier.arrive_and_wait();
  p[threadIdx.x] = staged[127 - threadIdx.x];
}

__global__ void atomics(cuda::atomic<int, cuda::thread_scope_device>* a, unsigned long long* b, float* f) {
  a->fetch_add(1, cuda::std::memory_order_acq_rel);
  atomicMax(b, 5ull);
  atomicAdd(f, 1.0f);
  atomicCAS(b, 1ull, 2ull);
}
