// Asynchronous copies from global to shared memory (cp.async): begin, commit, wait.
#pragma once

#include <cstdint>

// Where a copy leaves its bytes on the way.
enum class Cache {
  kAll,     // .ca: in L1 and L2, for bytes that other threads of the multiprocessor will read again
  kGlobal,  // .cg: in L2 alone, for bytes that are read once
};

template <int kBytes, Cache kCache>
struct CopySize {
  static_assert(kCache != Cache::kGlobal || kBytes == 16,
                "cp.async.cg copies 16 bytes at a time: for 4 or 8 bytes take Cache::kAll");
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "cp.async.ca copies 4, 8 or 16 bytes at a time");
  static constexpr bool kHolds = true;
};

// Begins a copy. Both addresses must be multiples of kBytes.
template <int kBytes, Cache kCache>
__device__ inline void copy_async(void* to_shared, const void* from_global) {
  static_assert(CopySize<kBytes, kCache>::kHolds);
  const auto shared = static_cast<uint32_t>(__cvta_generic_to_shared(to_shared));
  if constexpr (kCache == Cache::kGlobal) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from_global), "n"(kBytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from_global), "n"(kBytes)
                 : "memory");
  }
}

// Begins a copy of the first `there` bytes; the rest of kBytes becomes zeros. Of what is not there, nothing
// is read.
template <int kBytes, Cache kCache>
__device__ inline void copy_async_or_zeros(void* to_shared, const void* from_global, int there) {
  static_assert(CopySize<kBytes, kCache>::kHolds);
  const auto shared = static_cast<uint32_t>(__cvta_generic_to_shared(to_shared));
  if constexpr (kCache == Cache::kGlobal) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from_global), "n"(kBytes),
                 "r"(there)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from_global), "n"(kBytes),
                 "r"(there)
                 : "memory");
  }
}

// The widest copy, past L1: what tiles are brought with.
__device__ inline void copy_16_bytes_async(void* to_shared, const void* from_global) {
  copy_async<16, Cache::kGlobal>(to_shared, from_global);
}
__device__ inline void copy_16_bytes_or_zeros_async(void* to_shared, const void* from_global, bool there) {
  copy_async_or_zeros<16, Cache::kGlobal>(to_shared, from_global, there ? 16 : 0);
}

// What this thread has begun since the last commit becomes a group.
__device__ inline void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until all but the newest kLeft groups of this thread have landed.
template <int kLeft>
__device__ inline void wait_for_copies() {
  static_assert(kLeft >= 0, "a wait leaves so many of the newest groups on their way: 0 or more");
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

// Waits for everything that this thread has begun, committed or not.
__device__ inline void wait_for_all_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}
