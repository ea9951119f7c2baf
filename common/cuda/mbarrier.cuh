// Barriers in shared memory that count arrivals and bytes (mbarrier, sm_90 and up).
//
// A barrier goes from phase to phase. A phase is complete when all arrivals and all expected bytes have come;
// then the next one begins. Phases alternate between parity 0 and 1, and a wait names the parity of the phase
// that it waits for: a wait for parity 1 returns at once while the first phase (parity 0) is still open.
#pragma once

#include <cstdint>

__device__ inline uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

struct Barrier {
  uint64_t state;

  // By one thread. Others may use the barrier after a __syncthreads(); other blocks, after their cluster met.
  __device__ void init(int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&state)), "r"(arrivals)
                 : "memory");
  }

  __device__ void arrive() {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&state)) : "memory");
  }

  // Arrives, and lets the phase wait for so many bytes of bulk copies, too.
  __device__ void arrive_and_expect(int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&state)),
                 "r"(bytes)
                 : "memory");
  }

  __device__ bool is_complete(uint32_t parity) {
    uint32_t complete;
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                 : "=r"(complete)
                 : "r"(shared_address(&state)), "r"(parity)
                 : "memory");
    return complete != 0;
  }

  // What arrived before the phase was complete is visible after it.
  __device__ void wait(uint32_t parity) {
    while (!is_complete(parity)) {
    }
  }
};

// Makes a thread's initialised barriers visible to other blocks of its cluster, even by a relaxed arrival.
__device__ inline void fence_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Makes a thread's plain stores to shared memory visible to bulk copies and matrix products that begin later.
__device__ inline void fence_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// A barrier of `threads` threads, number 1 to 15: `meet` waits for all of them, `pass` counts and goes on.
__device__ inline void meet(int number, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}
__device__ inline void pass(int number, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

// Registers per thread of the four warps that call it, which all of them must: fewer, or more once others
// have given some back.
template <int kRegisters>
__device__ void keep_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
