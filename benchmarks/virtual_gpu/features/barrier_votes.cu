// Barriers that also count: how many threads, whether any, whether all.
#include "../programs/check.cuh"

__global__ void votes(const int* in, int* out) {
  const int value = in[blockIdx.x * blockDim.x + threadIdx.x];
  const int count = __syncthreads_count(value > 50), any = __syncthreads_or(value == 77),
            all = __syncthreads_and(value >= 0);
  if (threadIdx.x == 0) {
    out[3 * blockIdx.x] = count;
    out[3 * blockIdx.x + 1] = any != 0;
    out[3 * blockIdx.x + 2] = all != 0;
  }
}

int main() {
  Report report("barrier_votes");
  constexpr int kBlocks = 6, kThreads = 90;
  Random random(28);
  std::vector<int> values(kBlocks * kThreads), want(3 * kBlocks);
  for (int i = 0; i < kBlocks * kThreads; ++i) {
    values[i] = random.below(100) - (i / kThreads == 2 && i % 50 == 0 ? 200 : 0);
    const int block = i / kThreads;
    if (i % kThreads == 0) want[3 * block + 2] = 1;
    want[3 * block] += values[i] > 50;
    want[3 * block + 1] |= values[i] == 77;
    want[3 * block + 2] &= values[i] >= 0;
  }
  DeviceBuffer<int> input(values), output(3 * kBlocks);
  votes<<<kBlocks, kThreads>>>(input.get(), output.get());
  LAUNCHED_OK();
  report.equal("votes", output.download(), want);
  return report.finish();
}
