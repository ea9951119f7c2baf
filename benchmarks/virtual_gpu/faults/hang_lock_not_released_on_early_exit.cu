// A lock around a shared list. The path that finds the list full leaves without releasing the lock, and
// everyone after it waits for ever.
// hangs
#include "verdict.cuh"

constexpr int kCapacity = 20;

__global__ void append(int* list, int* length, int* lock) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {  // expect: hang
      __threadfence();
      const int position = *reinterpret_cast<volatile int*>(length);
      if (position == kCapacity) {
#ifdef FIXED
        atomicExch(lock, 0);
#endif
        return;
      }
      list[position] = threadIdx.x;
      *reinterpret_cast<volatile int*>(length) = position + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

int main() {
  int* list = device_zeros<int>(kCapacity);
  int* length = device_zeros<int>(1);
  int* lock = device_zeros<int>(1);
  append<<<1, 64>>>(list, length, lock);
  const bool right = to_host(length, 1)[0] == kCapacity && to_host(lock, 1)[0] == 0;
  cudaFree(list);
  cudaFree(length);
  cudaFree(lock);
  return verdict(right);
}
