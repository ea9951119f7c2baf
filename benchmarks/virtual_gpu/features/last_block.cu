// The block that finishes last adds up what all have written: a counter and a fence.
#include "../programs/check.cuh"

__global__ void sum(const int* in, int n, int* parts, unsigned* done, int* total) {
  __shared__ int tile[128];
  __shared__ bool is_last;
  int mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += in[i];
  tile[threadIdx.x] = mine;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) tile[threadIdx.x] += tile[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = tile[0];
    __threadfence();
    is_last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last || threadIdx.x != 0) return;
  int all = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) all += static_cast<volatile int*>(parts)[i];
  *total = all;
}

int main() {
  Report report("last_block");
  std::vector<int> values(5000);
  int want = 0;
  Random random(10);
  for (int& value : values) want += value = random.below(2000) - 1000;
  DeviceBuffer<int> input(values), parts(9), total(1);
  DeviceBuffer<unsigned> done(1);
  done.fill_bytes(0);
  for (int round = 0; round < 2; ++round) {  // the counter wraps, so that it serves again
    sum<<<9, 128>>>(input.get(), 5000, parts.get(), done.get(), total.get());
    LAUNCHED_OK();
    report.equal(round == 0 ? "first" : "second", total.download(), {want});
  }
  return report.finish();
}
