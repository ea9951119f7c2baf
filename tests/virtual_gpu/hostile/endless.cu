// Kernels that never end, or end badly. Each must turn into an error and a finding within seconds.
#include <cassert>

#include "hostile.cuh"

__device__ int sink;
__device__ volatile int flag;

__global__ void loop() {
  volatile int turns = 0;
  while (true) turns = turns + 1;
}

__global__ void loop_in_one_lane() {
  volatile int turns = 0;
  while (threadIdx.x == 5) turns = turns + 1;
  __syncthreads();
}

__device__ __noinline__ int deeper(int depth) {
  volatile int here[16];
  here[depth & 15] = depth;
  return deeper(depth + 1) + here[depth & 15];
}

__global__ void recurse() {
  sink = deeper(static_cast<int>(threadIdx.x));
}

__global__ void print() {
  for (unsigned long long i = 0;; ++i) printf("line %llu of a kernel that never stops talking\n", i);
}

__global__ void spin_global() {
  while (flag == 0) {
  }
}

__global__ void spin_shared() {
  __shared__ volatile int shared_flag;
  if (threadIdx.x == 0) shared_flag = 0;
  __syncthreads();
  while (shared_flag == 0) {
  }
}

__global__ void spin_atomic() {
  while (atomicAdd(&sink, 0) != -1) {
  }
}

__global__ void spin_with_pauses() {
  const long long begin = clock64();
  while (flag == 0) __nanosleep(clock64() - begin > 10'000 ? 64 : 8);
}

__global__ void spin_on_memory_that_changes() {
  while (atomicAdd(&sink, 1) != -1) {
  }
}

__global__ void deadlock() {
  if (threadIdx.x < 32) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 2, 64;" ::: "memory");
  }
}

__global__ void grid_deadlock(unsigned* arrived) {
  atomicAdd(arrived, 1u);
  while (atomicAdd(arrived, 0u) != gridDim.x + 1) {
  }
}

__global__ void trap() {
  if (blockIdx.x == 3 && threadIdx.x == 7) asm volatile("trap;");
}

__global__ void assertion() {
  assert(threadIdx.x < 7 && "seven is too many");
}

template <typename... Parameters, typename... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), int blocks, int threads,
            Arguments... arguments) {
  kernel<<<blocks, threads>>>(arguments...);
  say_launch(name);
}

void launch_grid_deadlock() {
  unsigned* arrived = nullptr;
  cudaMalloc(&arrived, sizeof *arrived);
  cudaMemset(arrived, 0, sizeof *arrived);
  launch("grid_deadlock", grid_deadlock, 8, 32, arrived);
}

const Case kCases[] = {
    {"loop", [] { launch("loop", loop, 4, 64); }},
    {"loop_in_one_lane", [] { launch("loop_in_one_lane", loop_in_one_lane, 1, 64); }},
    {"recurse", [] { launch("recurse", recurse, 4, 64); }},
    {"print", [] { launch("print", print, 4, 64); }},
    {"spin_global", [] { launch("spin_global", spin_global, 4, 64); }},
    {"spin_shared", [] { launch("spin_shared", spin_shared, 4, 64); }},
    {"spin_atomic", [] { launch("spin_atomic", spin_atomic, 4, 64); }},
    {"spin_pauses", [] { launch("spin_pauses", spin_with_pauses, 4, 64); }},
    {"spin_changes", [] { launch("spin_changes", spin_on_memory_that_changes, 4, 64); }},
    {"deadlock", [] { launch("deadlock", deadlock, 4, 64); }},
    {"grid_deadlock", launch_grid_deadlock},
    {"trap", [] { launch("trap", trap, 8, 64); }},
    {"assert", [] { launch("assert", assertion, 8, 64); }},
};

int main(int count, char** arguments) {
  return run_cases(count, arguments, kCases);
}
