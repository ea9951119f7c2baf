// Locks taken by every lane of a warp, in shared and in global memory: only a scheduler that lets the holder
// run while others of its warp spin gets through.
#include "check.cuh"

constexpr int kThreads = 64, kBlocks = 4;

__device__ void acquire(int* lock) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __threadfence();
}
__device__ void release(int* lock) {
  __threadfence();
  atomicExch(lock, 0);
}

// Under the lock: a chain in which each entry depends on the whole state before it.
__global__ void shared_lock(unsigned* sums, int* orders) {
  __shared__ int lock;
  __shared__ volatile unsigned sum;
  __shared__ volatile int taken;
  if (threadIdx.x == 0) {
    lock = 0;
    sum = 0;
    taken = 0;
  }
  __syncthreads();
  acquire(&lock);
  const int order = taken;
  taken = order + 1;
  sum = sum + threadIdx.x * threadIdx.x;
  release(&lock);
  __syncthreads();
  orders[blockIdx.x * kThreads + order] = 1;  // every position is taken exactly once
  if (threadIdx.x == 0) sums[blockIdx.x] = sum + taken;
}

__global__ void global_lock(int* lock, volatile unsigned* total) {
  bool done = false;
  // The classic form, with release inside the loop.
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      *total = *total + blockIdx.x * kThreads + threadIdx.x;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

int main() {
  Report report("spin_lock");
  DeviceBuffer<unsigned> sums(kBlocks), total(1);
  DeviceBuffer<int> orders(kBlocks * kThreads), lock(1);
  orders.fill_bytes(0);
  total.fill_bytes(0);
  lock.fill_bytes(0);
  shared_lock<<<kBlocks, kThreads>>>(sums.get(), orders.get());
  LAUNCHED_OK();
  unsigned squares = 0;
  for (unsigned i = 0; i < kThreads; ++i) squares += i * i;
  report.equal("sums", sums.download(), std::vector<unsigned>(kBlocks, squares + kThreads));
  report.equal("orders", orders.download(), std::vector<int>(kBlocks * kThreads, 1));
  global_lock<<<kBlocks, kThreads>>>(lock.get(), total.get());
  LAUNCHED_OK();
  constexpr unsigned kAll = kBlocks * kThreads;
  report.equal("total", total.download(), {kAll * (kAll - 1) / 2});
  report.equal("unlocked", lock.download(), {0});
  return report.finish();
}
