// Order between blocks: the last block to finish sums what the others left behind __threadfence, and a
// chained scan in which each block waits for its predecessor's flag.
#include "check.cuh"

constexpr int kThreads = 64, kBlocks = 12;

__device__ unsigned blocks_done = 0;

__device__ int block_sum(int value) {
  __shared__ int parts[kThreads / 32];
  value = __reduce_add_sync(0xffffffffu, value);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  int sum = 0;
  for (int part : parts) sum += part;
  __syncthreads();  // parts may be used again
  return sum;
}

__global__ void last_block_sums(const int* in, int* partial, int* total) {
  __shared__ bool is_last;
  const int sum = block_sum(in[blockIdx.x * kThreads + threadIdx.x]);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();  // the sum is visible before the count says so
    is_last = atomicInc(&blocks_done, kBlocks - 1) == kBlocks - 1;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  int mine = 0;
  for (int b = threadIdx.x; b < kBlocks; b += kThreads) mine += static_cast<volatile int*>(partial)[b];
  const int all = block_sum(mine);
  if (threadIdx.x == 0) *total = all;
}

struct Chain {
  unsigned ticket;
  unsigned ready[kBlocks];
  int prefix[kBlocks];
};

// Blocks take a ticket when they start, so a block only ever waits for one that is already running.
__global__ void chained_scan(const int* in, int* out, Chain* chain) {
  __shared__ int scanned[kThreads];
  __shared__ unsigned position;
  __shared__ int before;
  if (threadIdx.x == 0) position = atomicAdd(&chain->ticket, 1u);
  __syncthreads();
  const unsigned block = position;
  scanned[threadIdx.x] = in[block * kThreads + threadIdx.x];
  __syncthreads();
  for (int step = 1; step < kThreads; step *= 2) {
    const int below = threadIdx.x >= step ? scanned[threadIdx.x - step] : 0;
    __syncthreads();
    scanned[threadIdx.x] += below;
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    int prefix = 0;
    if (block > 0) {
      unsigned flag;
      do {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                     : "=r"(flag)
                     : "l"(&chain->ready[block - 1])
                     : "memory");
      } while (flag == 0);
      prefix = chain->prefix[block - 1];
    }
    before = prefix;
    chain->prefix[block] = prefix + scanned[kThreads - 1];
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(&chain->ready[block]), "r"(1u) : "memory");
  }
  __syncthreads();
  out[block * kThreads + threadIdx.x] = before + scanned[threadIdx.x];
}

__global__ void block_fences(int* out) {
  __shared__ int data[32];
  data[threadIdx.x] = threadIdx.x * 3;
  __threadfence_block();
  __syncthreads();
  out[threadIdx.x] = data[31 - threadIdx.x];
  __threadfence_system();
}

int main() {
  Report report("fences");
  constexpr int kAll = kThreads * kBlocks;
  Random random(20);
  std::vector<int> in(kAll), want(kAll);
  int sum = 0;
  for (int i = 0; i < kAll; ++i) {
    in[i] = random.below(1000) - 300;
    want[i] = sum += in[i];
  }
  DeviceBuffer<int> input(in), partial(kBlocks), total(1), output(kAll);
  for (int round = 0; round < 2; ++round) {  // the counter wraps to 0 by itself and serves again
    last_block_sums<<<kBlocks, kThreads>>>(input.get(), partial.get(), total.get());
    LAUNCHED_OK();
    report.equal("total", total.download(), {sum});
  }
  DeviceBuffer<Chain> chain(1);
  chain.fill_bytes(0);
  chained_scan<<<kBlocks, kThreads>>>(input.get(), output.get(), chain.get());
  LAUNCHED_OK();
  report.equal("scan", output.download(), want);
  DeviceBuffer<int> mirrored(32);
  block_fences<<<1, 32>>>(mirrored.get());
  LAUNCHED_OK();
  std::vector<int> want_mirrored(32);
  for (int i = 0; i < 32; ++i) want_mirrored[i] = (31 - i) * 3;
  report.equal("block_fences", mirrored.download(), want_mirrored);
  return report.finish();
}
