// Launches whose blocks differ in what they do:
//
//     program KERNEL BLOCKS WORKER AMOUNT
//
// BLOCKS blocks of 256 threads. What WORKER means, each kernel says.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

constexpr int kThreads = 256;
constexpr int kElements = 1 << 20;

// One block copies all, the others leave at once.
__global__ void copies(const int* from, int* to, int worker, int amount) {
  if (blockIdx.x != worker) return;
  for (int i = threadIdx.x; i < amount; i += kThreads) to[i] = from[i];
}

// One block follows a chain, each hop of it a trip to memory; the others compute, and run as many
// instructions.
__global__ void follows(const int* next, int* to, int worker, int hops) {
  if (blockIdx.x == worker) {
    int at = threadIdx.x;
#pragma unroll 1
    for (int i = 0; i < hops; ++i) at = next[at];
    to[threadIdx.x] = at;
    return;
  }
  unsigned x = threadIdx.x;
#pragma unroll 4
  for (int i = 0; i < 2 * hops; ++i) x = x * 1664525u + blockIdx.x;
  if (x == 12345) to[threadIdx.x] = 0;
}

// As above, but one warp of the block alone is at work.
__global__ void follows_in_one_warp(const int* next, int* to, int worker, int hops) {
  if (blockIdx.x != worker || threadIdx.x >= 32) return;
  int at = threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < hops; ++i) at = next[at];
  to[threadIdx.x] = at;
}

// Every block does more than the one before; with a worker, which is not negative, only that one is at work.
__global__ void ramp(const int* from, int* to, int worker, int rounds_per_block) {
  if (worker >= 0 && blockIdx.x != worker) return;
  const int rounds = (blockIdx.x + 1) * rounds_per_block;
  int sum = 0;
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) sum += from[(sum & 1) + (i * kThreads + threadIdx.x) % (kElements - 1)];
  to[blockIdx.x * kThreads + threadIdx.x] = sum;
}

// Every block follows a chain whose number leaves `worker` when divided by 16; the others leave at once.
__global__ void some_follow(const int* next, int* to, int worker, int hops) {
  if (blockIdx.x % 16 != worker) return;
  int at = threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < hops; ++i) at = next[at];
  to[blockIdx.x * kThreads + threadIdx.x] = at;
}

// `worker` blocks compute, as many after them leave at once, and so on. Eight sums that do not wait for each
// other keep an SM busy.
__global__ void some_compute(const int* from, int* to, int worker, int rounds) {
  if (blockIdx.x / worker % 2 != 0) return;
  int sums[8] = {};
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
#pragma unroll
    for (int& sum : sums) sum = sum * 1664525 + i;
  }
  int all = 0;
  for (const int sum : sums) all += sum;
  to[blockIdx.x * kThreads + threadIdx.x] = all;
}

// Three of four blocks follow a chain; the others run more instructions, and end sooner.
__global__ void most_follow(const int* next, int* to, int worker, int hops) {
  int at = threadIdx.x;
  if (blockIdx.x % 4 != worker) {
#pragma unroll 1
    for (int i = 0; i < hops; ++i) at = next[at];
  } else {
#pragma unroll 4
    for (int i = 0; i < 6 * hops; ++i) at = at * 1664525 + i;
  }
  to[blockIdx.x % 16 * kThreads + threadIdx.x] = at;
}

int main(int count, char** words) {
  const struct {
    const char* name;
    void (*kernel)(const int*, int*, int, int);
  } kernels[] = {{"copies", copies},
                 {"follows", follows},
                 {"follows_in_one_warp", follows_in_one_warp},
                 {"ramp", ramp},
                 {"some_follow", some_follow},
                 {"some_compute", some_compute},
                 {"most_follow", most_follow}};
  if (count != 5) return std::printf("KERNEL BLOCKS WORKER AMOUNT\n"), 2;
  // A hop goes far enough to leave every line and pair of sectors behind.
  int* host = new int[kElements];
  for (int i = 0; i < kElements; ++i) host[i] = (i + 37 * kThreads) % kElements;
  int *from = nullptr, *to = nullptr;
  cudaMalloc(&from, kElements * sizeof(int));
  cudaMalloc(&to, kElements * sizeof(int));
  cudaMemcpy(from, host, kElements * sizeof(int), cudaMemcpyHostToDevice);
  for (const auto& k : kernels)
    if (std::strcmp(words[1], k.name) == 0)
      k.kernel<<<std::atoi(words[2]), kThreads>>>(from, to, std::atoi(words[3]), std::atoi(words[4]));
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("%s\n", cudaGetErrorName(error));
  cudaFree(from);
  cudaFree(to);
  delete[] host;
  return error != cudaSuccess;
}
