// One word as an mbarrier of changing counts: initialised, used, invalidated, used as data, initialised
// again. Threads wait by the state that their arrival returned, with test_wait and with try_wait and a time
// limit.
#include "../programs/check.cuh"
#include "instructions.cuh"

using namespace hopper;

constexpr int kThreads = 128, kRounds = 3;

__device__ bool test_state(uint64_t* barrier, uint64_t state) {
  uint32_t done;
  asm volatile("{.reg .pred p; mbarrier.test_wait.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
               : "=r"(done)
               : "r"(shared_address(barrier)), "l"(state)
               : "memory");
  return done != 0;
}
__device__ bool try_state(uint64_t* barrier, uint64_t state, uint32_t nanoseconds) {
  uint32_t done;
  asm volatile("{.reg .pred p; mbarrier.try_wait.shared::cta.b64 p, [%1], %2, %3; selp.u32 %0, 1, 0, p;}"
               : "=r"(done)
               : "r"(shared_address(barrier)), "l"(state), "r"(nanoseconds)
               : "memory");
  return done != 0;
}

__global__ void reuse(int* out) {
  __shared__ uint64_t word;
  __shared__ int values[kThreads];
  const int t = threadIdx.x;
  int sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    const int count = 32 << round;  // the first `count` threads arrive, all wait
    if (t == 0) barrier_init(&word, count);
    __syncthreads();
    if (t < count) {
      values[t] = t * (round + 1);
      const uint64_t state = arrive(&word);
      if (round % 2 == 0) {
        while (!test_state(&word, state)) {
        }
      } else {
        while (!try_state(&word, state, 1000)) {
        }
      }
    } else {
      wait(&word, 0);
    }
    sum += values[count - 1 - t % count];
    __syncthreads();
    if (t == 0) {
      barrier_inval(&word);
      word = 1000 * (round + 1);
    }
    __syncthreads();
    sum += static_cast<int>(word);
    __syncthreads();
  }
  out[t] = sum;
}

int main() {
  Report report("mbarrier_reuse");
  DeviceBuffer<int> out(kThreads);
  reuse<<<2, kThreads>>>(out.get());
  LAUNCHED_OK();
  std::vector<int> want(kThreads);
  for (int t = 0; t < kThreads; ++t)
    for (int round = 0; round < kRounds; ++round) {
      const int count = 32 << round;
      want[t] += (count - 1 - t % count) * (round + 1) + 1000 * (round + 1);
    }
  report.equal("reuse", out.download(), want);
  return report.finish();
}
