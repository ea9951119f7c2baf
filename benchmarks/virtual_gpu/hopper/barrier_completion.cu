// cuda::barrier with a completion function, and threads that leave with arrive_and_drop.
// also for: 80
#include <cuda/barrier>

#include "../programs/check.cuh"

constexpr int kThreads = 96, kRounds = 4;
#pragma nv_diag_suppress static_var_with_dynamic_init

// The last thread to arrive runs it, before any thread goes on.
struct Total {
  const int* values;
  int* totals;
  int* round;
  __device__ void operator()() {
    int total = 0;
    for (int i = 0; i < kThreads; ++i) total += values[i];
    totals[(*round)++] = total;
  }
};

__global__ void totals_by_round(const int* in, int* out) {
  using Barrier = cuda::barrier<cuda::thread_scope_block, Total>;
  __shared__ Barrier barrier;
  __shared__ int values[kThreads], totals[kRounds], round_number;
  const int t = threadIdx.x;
  if (t == 0) {
    round_number = 0;
    init(&barrier, kThreads, Total{values, totals, &round_number});
  }
  __syncthreads();
  int sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    values[t] = in[round * kThreads + t];
    barrier.arrive_and_wait();
    sum = sum * 3 + totals[round];
    // The next completion writes another element, and runs after all have arrived again.
  }
  out[blockIdx.x * kThreads + t] = sum;
}

// After round r, the last 24 threads that are left leave; the others see what they wrote before.
__global__ void fewer_each_round(const int* in, int* out) {
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ Barrier barrier;
  __shared__ int values[2][kThreads];
  const int t = threadIdx.x;
  if (t == 0) init(&barrier, kThreads);
  values[0][t] = values[1][t] = 0;
  __syncthreads();
  int sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    const int left = kThreads - round * 24;
    values[round & 1][t] = in[round * kThreads + t];
    if (t >= left - 24) {
      barrier.arrive_and_drop();
      break;
    }
    barrier.arrive_and_wait();
    for (int i = 0; i < left; ++i) sum += values[round & 1][i] * (round + 1);
  }
  out[t] = sum;
}

int main() {
  Report report("barrier_completion");
  Random random(83);
  std::vector<int> values(kRounds * kThreads), want(2 * kThreads), want_fewer(kThreads, 0);
  for (int& value : values) value = random.below(1000);
  DeviceBuffer<int> in(values), out(2 * kThreads), fewer(kThreads);
  totals_by_round<<<2, kThreads>>>(in.get(), out.get());
  LAUNCHED_OK();
  int expected = 0;
  for (int round = 0; round < kRounds; ++round) {
    int total = 0;
    for (int t = 0; t < kThreads; ++t) total += values[round * kThreads + t];
    expected = expected * 3 + total;
  }
  for (int& value : want) value = expected;
  report.equal("totals", out.download(), want);

  fewer_each_round<<<1, kThreads>>>(in.get(), fewer.get());
  LAUNCHED_OK();
  for (int round = 0; round < kRounds; ++round)
    for (int t = 0; t < kThreads - (round + 1) * 24; ++t)
      for (int i = 0; i < kThreads - round * 24; ++i)
        want_fewer[t] += values[round * kThreads + i] * (round + 1);
  report.equal("fewer", fewer.download(), want_fewer);
  return report.finish();
}
