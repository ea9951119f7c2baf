// Asynchronous copies from global to shared memory, 16 bytes each.
#pragma once

#include <cstdint>

// Begins a copy that bypasses L1. Both addresses must be multiples of 16.
__device__ inline void copy_16_bytes_async(void* to_shared, const void* from_global) {
  const auto shared = static_cast<uint32_t>(__cvta_generic_to_shared(to_shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from_global) : "memory");
}

// What this thread has begun since the last commit becomes a group.
__device__ inline void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until all but the newest kLeft groups of this thread have landed.
template <int kLeft>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}
