// mbarrier in PTX: counts, states and parities, drops, .noComplete, expected bytes that threads complete.
#include "../programs/check.cuh"
#include "instructions.cuh"

using namespace hopper;

constexpr int kThreads = 128;

// Threads hand values round, one phase per step; the parity tells the phases apart.
__global__ void ring(int steps, int* out) {
  __shared__ uint64_t barrier;
  __shared__ int values[2][kThreads];
  const int t = threadIdx.x;
  if (t == 0) barrier_init(&barrier, kThreads);
  __syncthreads();
  int value = t * 3 + 1;
  for (int step = 0; step < steps; ++step) {
    values[step & 1][t] = value;
    arrive(&barrier);
    wait(&barrier, step & 1);
    value = values[step & 1][(t + 1) % kThreads] + step;
  }
  out[t] = value;
}

// The state that arrive returns: how many arrivals the phase lacked before it.
__global__ void states(uint32_t* out) {
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 10);
    uint64_t state;
    uint32_t pending, done, address = shared_address(&barrier);
    int at = 0;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(address) : "memory");
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
    out[at++] = pending;
    asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], 4;"
                 : "=l"(state)
                 : "r"(address)
                 : "memory");
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
    out[at++] = pending;
    asm volatile("{.reg .pred p; mbarrier.test_wait.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done)
                 : "r"(address), "l"(state)
                 : "memory");
    out[at++] = done;
    asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1], 1;" : "=l"(state) : "r"(address) : "memory");
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
    out[at++] = pending;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], 4;" : "=l"(state) : "r"(address) : "memory");
    asm volatile("{.reg .pred p; mbarrier.test_wait.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done)
                 : "r"(address), "l"(state)
                 : "memory");
    out[at++] = done;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(address) : "memory");
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
    out[at++] = pending;  // one fewer: a thread has dropped
    out[at++] = try_wait(&barrier, 0);
    out[at++] = try_wait(&barrier, 1);
    asm volatile(
        "{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 1, 20; selp.u32 %0, 1, 0, p;}"
        : "=r"(done)
        : "r"(address)
        : "memory");
    out[at++] = done;
  }
}

// Bytes that a thread announces and another completes.
__global__ void bytes_by_hand(int* out) {
  __shared__ uint64_t barrier;
  __shared__ int value;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 64;" ::"r"(shared_address(&barrier))
                 : "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    value = 42;
    arrive(&barrier);
  }
  if (threadIdx.x == 32) {
    out[0] = try_wait(&barrier, 0);
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 64;" ::"r"(shared_address(&barrier))
                 : "memory");
    wait(&barrier, 0);
    out[1] = value;
  }
  __syncthreads();
  if (threadIdx.x == 0) barrier_inval(&barrier);
}

int main() {
  Report report("mbarrier");
  {
    const int steps = 9;
    DeviceBuffer<int> out(kThreads);
    ring<<<3, kThreads>>>(steps, out.get());
    LAUNCHED_OK();
    std::vector<int> want(kThreads), next(kThreads);
    for (int t = 0; t < kThreads; ++t) want[t] = t * 3 + 1;
    for (int step = 0; step < steps; ++step) {
      for (int t = 0; t < kThreads; ++t) next[t] = want[(t + 1) % kThreads] + step;
      want = next;
    }
    report.equal("ring", out.download(), want);
  }
  {
    DeviceBuffer<uint32_t> out(9);
    states<<<1, 32>>>(out.get());
    LAUNCHED_OK();
    report.equal("states", out.download(), std::vector<uint32_t>{10, 9, 0, 5, 1, 9, 1, 0, 0});
  }
  {
    DeviceBuffer<int> out(2);
    bytes_by_hand<<<1, 64>>>(out.get());
    LAUNCHED_OK();
    report.equal("bytes_by_hand", out.download(), std::vector<int>{0, 42});
  }
  return report.finish();
}
