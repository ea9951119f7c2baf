// Kernels whose outcome a GPU leaves open. Here two runs, on any number of CPU threads, must agree in every
// bit: what is printed, the counters and the findings.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "hostile.cuh"

constexpr int kBlocks = 96, kThreads = 64, kAll = kBlocks * kThreads;

__device__ float float_sum;
__device__ unsigned tickets, arrived, last_block;
__device__ unsigned long long state[kBlocks];  // look-back: status in the high half, sum in the low half

__device__ unsigned mix(unsigned x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  return x * 0x846ca68bu;
}

__global__ void float_atomics() {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&float_sum, 1.0f / static_cast<float>(1 + mix(i) % 1000));
}

__global__ void integer_tickets(unsigned* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned x = i;
  for (unsigned turns = mix(i) % 50; turns > 0; --turns) x = mix(x);
  out[i] = atomicAdd(&tickets, 1u) + (x == 12345 ? 1u : 0u);
}

__global__ void last_block_adds(float* parts, float* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = 1.0f / static_cast<float>(1 + blockIdx.x);
    __threadfence();
    last = atomicAdd(&arrived, 1u) == gridDim.x - 1;
    if (last) last_block = blockIdx.x;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  float sum = 0;
  for (int i = 0; i < kBlocks; ++i) sum += __ldcg(&parts[i]);
  *out = sum;
}

__global__ void look_back_scan(unsigned* out) {
  __shared__ unsigned prefix;
  const unsigned b = blockIdx.x;
  if (threadIdx.x == 0) {
    const unsigned own = mix(b) % 1000;
    atomicExch(&state[b], 1ull << 32 | own);
    unsigned before = 0;
    for (int at = static_cast<int>(b) - 1; at >= 0; --at) {
      unsigned long long seen = 0;
      do seen = *reinterpret_cast<volatile unsigned long long*>(&state[at]);
      while (seen == 0);
      before += static_cast<unsigned>(seen);
      if (seen >> 32 == 2) break;
    }
    atomicExch(&state[b], 2ull << 32 | (before + own));
    prefix = before;
  }
  __syncthreads();
  out[b * blockDim.x + threadIdx.x] = prefix + threadIdx.x;
}

__global__ void divergence_and_shuffles(unsigned* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned x = mix(i);
  for (unsigned k = 0; k < x % 17; ++k) x = (k % 3 == 0) ? mix(x) : x * 3 + k;
  const unsigned group = __match_any_sync(0xffffffffu, x % 4);
  x += __reduce_add_sync(group, x);
  out[i] = __shfl_xor_sync(0xffffffffu, x, 5) + static_cast<unsigned>(clock() & 0);
}

__global__ void print_lines() {
  if (threadIdx.x % 16 == 0)
    printf("block %d thread %d says %u\n", blockIdx.x, threadIdx.x, mix(blockIdx.x * 64 + threadIdx.x));
}

// Far more text than the buffer holds.
__global__ void print_too_much() {
  for (int i = 0; i < 20; ++i)
    printf("block %d thread %d turn %d: the buffer cannot hold all of this text\n", blockIdx.x, threadIdx.x,
           i);
}

__global__ void faulty(int* out, int n) {
  __shared__ int box[kThreads];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  box[threadIdx.x] = i;
  out[n - 32 + i] = box[kThreads - 1 - threadIdx.x];
}

// Which block's value stays is not defined, even on one GPU.
__global__ void racy_stores(unsigned* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned x = i;
  for (unsigned turns = mix(i) % 64; turns > 0; --turns) x = mix(x) | 1u;
  out[i % 8] = i + (x == 0 ? 1u : 0u);
}

__global__ void racy_increments(unsigned* out) {
  out[threadIdx.x % 8] += mix(blockIdx.x) % 100;
}

// A register that nobody set, and two kinds of atomics that meet in one word.
__global__ void unset_registers(unsigned* out) {
  unsigned x, y = mix(blockIdx.x);
  asm volatile("" : "=r"(x));
  if (y % 3 == 0) asm volatile("" : "=r"(y));
  out[blockIdx.x * blockDim.x + threadIdx.x] = x ^ y;
}

__global__ void mixed_atomics(unsigned* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (mix(i) % 2 == 0)
    atomicAdd(&out[i % 8], mix(i) % 100);
  else
    atomicMax(&out[i % 8], mix(i) % 1000);
}

__global__ void traps() {
  if (blockIdx.x % 10 == 7 && threadIdx.x == mix(blockIdx.x) % kThreads) __trap();
}

__global__ void loops() {
  volatile unsigned x = mix(blockIdx.x);
  while (blockIdx.x % 5 == 3) x = mix(x);
}

void print_digest(const char* name, const void* device, size_t bytes) {
  std::vector<unsigned char> host(bytes);
  say(name, cudaMemcpy(host.data(), device, bytes, cudaMemcpyDeviceToHost));
  uint64_t digest = 0xcbf29ce484222325ull;
  for (const unsigned char byte : host) digest = (digest ^ byte) * 0x100000001b3ull;
  std::printf("%016llx\n", static_cast<unsigned long long>(digest));
}

template <typename T>
T* zeroed(size_t count) {
  T* memory = nullptr;
  cudaMalloc(&memory, count * sizeof(T));
  cudaMemset(memory, 0, count * sizeof(T));
  return memory;
}

void defined() {
  unsigned* out = zeroed<unsigned>(kAll);
  float* parts = zeroed<float>(kBlocks + 1);
  float_atomics<<<kBlocks, kThreads>>>();
  float sum = 0;
  cudaMemcpyFromSymbol(&sum, float_sum, sizeof sum);
  std::printf("sum %a\n", sum);
  integer_tickets<<<kBlocks, kThreads>>>(out);
  print_digest("tickets", out, kAll * 4);
  last_block_adds<<<kBlocks, kThreads>>>(parts, parts + kBlocks);
  print_digest("last block", parts + kBlocks, 4);
  unsigned last = 0;
  cudaMemcpyFromSymbol(&last, last_block, sizeof last);
  std::printf("it was %u\n", last);
  look_back_scan<<<kBlocks, kThreads>>>(out);
  print_digest("look-back", out, kAll * 4);
  divergence_and_shuffles<<<kBlocks, kThreads>>>(out);
  print_digest("divergence", out, kAll * 4);
  print_lines<<<kBlocks, kThreads>>>();
  say_launch("print");
  cudaFree(out);
  cudaFree(parts);
}

void racy() {
  unsigned* out = zeroed<unsigned>(16);
  racy_stores<<<kBlocks, kThreads>>>(out);
  racy_increments<<<kBlocks, kThreads>>>(out + 8);
  print_digest("stores", out, 32);
  print_digest("increments", out + 8, 32);
  cudaFree(out);
}

void undefined() {
  unsigned* out = zeroed<unsigned>(kAll);
  divergence_and_shuffles<<<kBlocks, kThreads>>>(out);
  unset_registers<<<kBlocks, kThreads>>>(out);
  print_digest("unset", out, kAll * 4);
  unsigned* words = zeroed<unsigned>(8);
  mixed_atomics<<<kBlocks, kThreads>>>(words);
  print_digest("mixed", words, 32);
  cudaFree(out);
  cudaFree(words);
}

void found() {
  int* out = zeroed<int>(100);
  faulty<<<kBlocks, kThreads>>>(out, 100);
  say_launch("faulty");
}

const Case kCases[] = {
    {"defined", defined},
    {"racy", racy},
    {"undefined", undefined},
    {"found", found},
    {"print_too_much",
     [] {
       print_too_much<<<kBlocks, kThreads>>>();
       say_launch("print");
     }},
    {"traps",
     [] {
       traps<<<kBlocks, kThreads>>>();
       say_launch("traps");
     }},
    {"loops",
     [] {
       loops<<<kBlocks, kThreads>>>();
       say_launch("loops");
     }},
};

int main(int count, char** arguments) {
  return run_cases(count, arguments, kCases);
}
