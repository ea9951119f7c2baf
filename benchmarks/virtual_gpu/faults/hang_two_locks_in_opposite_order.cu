// Two warps each take two locks, in opposite order, and wait until both hold their first one
// before they ask for the second: the classic deadlock, made certain.
// hangs
#include "verdict.cuh"

__device__ void acquire(int* lock) {
  while (atomicCAS(lock, 0, 1) != 0) {  // expect: hang
  }
  __threadfence();
}

__device__ void release(int* lock) {
  __threadfence();
  atomicExch(lock, 0);
}

__global__ void transfer(int* locks, int* balance, int* ready) {
  const int mine = threadIdx.x / 32, theirs = 1 - mine;
  if (threadIdx.x % 32 != 0) return;
#ifdef FIXED
  acquire(&locks[0]);
  acquire(&locks[1]);
#else
  acquire(&locks[mine]);
  atomicAdd(ready, 1);
  while (atomicAdd(ready, 0) < 2) {
  }
  acquire(&locks[theirs]);
#endif
  atomicSub(&balance[mine], 5 + mine);
  atomicAdd(&balance[theirs], 5 + mine);
  release(&locks[theirs]);
  release(&locks[mine]);
}

int main() {
  int* locks = device_zeros<int>(2);
  int* ready = device_zeros<int>(1);
  int* balance = to_device(std::vector<int>{100, 100});
  transfer<<<1, 64>>>(locks, balance, ready);
  const bool right = to_host(balance, 2) == std::vector<int>{101, 99};
  cudaFree(locks);
  cudaFree(ready);
  cudaFree(balance);
  return verdict(right);
}
