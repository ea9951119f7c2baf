// The same by CUDA's own functions: cuda::device::memcpy_async_tx, barrier_arrive_tx, and cuda::ptx.
#include <cuda/barrier>
#include <cuda/ptx>

#include "../programs/check.cuh"

constexpr int kTile = 256;
#pragma nv_diag_suppress static_var_with_dynamic_init

__global__ void with_barrier(const int* in, int* out) {
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ __align__(128) int tile[kTile];
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) {
    init(&barrier, blockDim.x);
    cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
  }
  __syncthreads();
  Barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cuda::device::memcpy_async_tx(tile, in + blockIdx.x * kTile, cuda::aligned_size_t<16>(sizeof tile),
                                  barrier);
    token = cuda::device::barrier_arrive_tx(barrier, 1, sizeof tile);
  } else {
    token = barrier.arrive();
  }
  barrier.wait(std::move(token));
  for (int i = threadIdx.x; i < kTile; i += blockDim.x) tile[i] += 5;
  cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared, out + blockIdx.x * kTile, tile,
                             sizeof tile);
    cuda::ptx::cp_async_bulk_commit_group();
    cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<0>());
  }
}

__global__ void with_words(const int* in, int* out) {
  namespace ptx = cuda::ptx;
  __shared__ __align__(128) int tile[2][kTile];
  __shared__ uint64_t barrier[2];
  if (threadIdx.x == 0) {
    for (int s = 0; s < 2; ++s) ptx::mbarrier_init(&barrier[s], 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < 6; ++i) {
    const int s = i % 2;
    if (threadIdx.x == 0) {
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile[s], in + i * kTile, sizeof tile[s],
                         &barrier[s]);
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier[s],
                                     sizeof tile[s]);
    }
    while (!ptx::mbarrier_try_wait_parity(&barrier[s], i / 2 & 1)) {
    }
    sum += tile[s][threadIdx.x] * (i + 1);
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

int main() {
  Report report("device_api");
  Random random(34);
  std::vector<int> values(6 * kTile), want(4 * kTile);
  for (int& value : values) value = random.below(10000);
  DeviceBuffer<int> in(values), out(4 * kTile), sums(64);
  with_barrier<<<4, 64>>>(in.get(), out.get());
  LAUNCHED_OK();
  for (int i = 0; i < 4 * kTile; ++i) want[i] = values[i] + 5;
  report.equal("with_barrier", out.download(), want);
  with_words<<<1, 64>>>(in.get(), sums.get());
  LAUNCHED_OK();
  std::vector<int> want_sums(64, 0);
  for (int t = 0; t < 64; ++t)
    for (int i = 0; i < 6; ++i) want_sums[t] += values[i * kTile + t] * (i + 1);
  report.equal("with_words", sums.download(), want_sums);
  return report.finish();
}
