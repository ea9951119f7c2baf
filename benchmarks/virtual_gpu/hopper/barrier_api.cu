// cuda::barrier, cuda::pipeline of a block, cuda::memcpy_async and cooperative_groups::memcpy_async.
// also for: 80
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>

#include <cuda/barrier>
#include <cuda/pipeline>

#include "../programs/check.cuh"

namespace cg = cooperative_groups;
constexpr int kThreads = 128;
#pragma nv_diag_suppress static_var_with_dynamic_init

__global__ void neighbours(const int* in, int rounds, int* out) {
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ Barrier barrier;
  __shared__ int tile[kThreads];
  if (threadIdx.x == 0) init(&barrier, kThreads);
  __syncthreads();
  int sum = 0;
  for (int round = 0; round < rounds; ++round) {
    cuda::memcpy_async(&tile[threadIdx.x], &in[round * kThreads + threadIdx.x], sizeof(int), barrier);
    barrier.arrive_and_wait();
    sum += tile[(threadIdx.x + 1) % kThreads] * (round + 1);
    Barrier::arrival_token token = barrier.arrive();
    barrier.wait(std::move(token));
  }
  out[threadIdx.x] = sum;
}

// Producers and consumers by their own barriers: each side only arrives at the other's.
__global__ void two_sides(const int* in, int rounds, int* out) {
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ Barrier ready, filled;
  __shared__ int tile[kThreads / 2];
  if (threadIdx.x == 0) {
    init(&ready, kThreads);
    init(&filled, kThreads);
  }
  __syncthreads();
  const int t = threadIdx.x % (kThreads / 2);
  int sum = 0;
  for (int round = 0; round < rounds; ++round) {
    if (threadIdx.x < kThreads / 2) {
      ready.arrive_and_wait();
      tile[t] = in[round * kThreads / 2 + t];
      (void)filled.arrive();
    } else {
      (void)ready.arrive();
      filled.arrive_and_wait();
      sum += tile[kThreads / 2 - 1 - t] + round;
    }
  }
  if (threadIdx.x >= kThreads / 2) out[t] = sum;
}

__global__ void staged(const int* in, int rounds, int* out) {
  cg::thread_block block = cg::this_thread_block();
  __shared__ alignas(16) int tile[2][kThreads];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto pipe = cuda::make_pipeline(block, &state);
  pipe.producer_acquire();
  cuda::memcpy_async(block, tile[0], in, cuda::aligned_size_t<16>(sizeof tile[0]), pipe);
  pipe.producer_commit();
  int sum = 0;
  for (int round = 0; round < rounds; ++round) {
    if (round + 1 < rounds) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, tile[(round + 1) & 1], in + (round + 1) * kThreads,
                         cuda::aligned_size_t<16>(sizeof tile[0]), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum = sum * 3 + tile[round & 1][kThreads - 1 - threadIdx.x];
    pipe.consumer_release();
  }
  out[threadIdx.x] = sum;
}

__global__ void by_group(const int* in, int* out) {
  cg::thread_block block = cg::this_thread_block();
  __shared__ alignas(16) int tile[kThreads + 3];
  cg::memcpy_async(block, tile, in + 1, sizeof tile);
  cg::wait(block);
  out[threadIdx.x] = tile[threadIdx.x + 3] - tile[threadIdx.x];
}

int main() {
  Report report("barrier_api");
  Random random(31);
  const int rounds = 5;
  std::vector<int> values(rounds * kThreads + 8), want(kThreads, 0);
  for (int& value : values) value = random.below(1000);
  DeviceBuffer<int> in(values), out(kThreads), half(kThreads / 2);
  neighbours<<<2, kThreads>>>(in.get(), rounds, out.get());
  LAUNCHED_OK();
  for (int t = 0; t < kThreads; ++t)
    for (int r = 0; r < rounds; ++r) want[t] += values[r * kThreads + (t + 1) % kThreads] * (r + 1);
  report.equal("neighbours", out.download(), want);

  two_sides<<<1, kThreads>>>(in.get(), rounds, half.get());
  LAUNCHED_OK();
  std::vector<int> want_half(kThreads / 2, 0);
  for (int t = 0; t < kThreads / 2; ++t)
    for (int r = 0; r < rounds; ++r) want_half[t] += values[r * kThreads / 2 + kThreads / 2 - 1 - t] + r;
  report.equal("two_sides", half.download(), want_half);

  staged<<<2, kThreads>>>(in.get(), rounds, out.get());
  LAUNCHED_OK();
  for (int t = 0; t < kThreads; ++t) {
    want[t] = 0;
    for (int r = 0; r < rounds; ++r) want[t] = want[t] * 3 + values[r * kThreads + kThreads - 1 - t];
  }
  report.equal("staged", out.download(), want);

  by_group<<<1, kThreads>>>(in.get(), out.get());
  LAUNCHED_OK();
  for (int t = 0; t < kThreads; ++t) want[t] = values[1 + t + 3] - values[1 + t];
  report.equal("by_group", out.download(), want);
  return report.finish();
}
