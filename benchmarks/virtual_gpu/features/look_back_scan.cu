// A prefix sum in one pass: each block waits for the sums of the blocks before it.
#include "../programs/check.cuh"

constexpr int kThreads = 64;
struct State {
  int sum;
  int ready;
};

__global__ void scan(const int* in, int n, int* next_block, volatile State* states, int* out) {
  __shared__ int tile[kThreads], block, before;
  if (threadIdx.x == 0) block = atomicAdd(next_block, 1);
  __syncthreads();
  const int at = block * kThreads + static_cast<int>(threadIdx.x);
  tile[threadIdx.x] = at < n ? in[at] : 0;
  __syncthreads();
  for (int step = 1; step < kThreads; step *= 2) {
    const int other = threadIdx.x >= step ? tile[threadIdx.x - step] : 0;
    __syncthreads();
    tile[threadIdx.x] += other;
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    before = 0;
    if (block > 0) {
      while (states[block - 1].ready == 0) {
      }
      __threadfence();
      before = states[block - 1].sum;
    }
    states[block].sum = before + tile[kThreads - 1];
    __threadfence();
    states[block].ready = 1;
  }
  __syncthreads();
  if (at < n) out[at] = before + tile[threadIdx.x];
}

int main() {
  Report report("look_back_scan");
  constexpr int kCount = 1500, kBlocks = (kCount + kThreads - 1) / kThreads;
  Random random(15);
  std::vector<int> values(kCount), want(kCount);
  int sum = 0;
  for (int i = 0; i < kCount; ++i) want[i] = sum += values[i] = random.below(50) - 10;
  DeviceBuffer<int> input(values), next(1), output(kCount);
  DeviceBuffer<State> states(kBlocks);
  next.fill_bytes(0);
  states.fill_bytes(0);
  scan<<<kBlocks, kThreads>>>(input.get(), kCount, next.get(), states.get(), output.get());
  LAUNCHED_OK();
  report.equal("sums", output.download(), want);
  return report.finish();
}
