// Scans and reductions in dynamic shared memory, the second above 48 KB, which a kernel must be allowed
// first.
#include "check.cuh"

extern __shared__ __align__(16) unsigned char dynamic_shared[];

// Work-efficient exclusive scan of one block's elements: up the tree, then down.
__global__ void tree_scan(const int* in, int* out, int* total, int count) {
  int* data = reinterpret_cast<int*>(dynamic_shared);
  const int t = threadIdx.x;
  for (int k = t; k < count; k += blockDim.x) data[k] = in[k];
  int offset = 1;
  for (int nodes = count / 2; nodes > 0; nodes /= 2, offset *= 2) {
    __syncthreads();
    if (t < nodes) data[offset * (2 * t + 2) - 1] += data[offset * (2 * t + 1) - 1];
  }
  __syncthreads();
  if (t == 0) {
    *total = data[count - 1];
    data[count - 1] = 0;
  }
  for (int nodes = 1; nodes < count; nodes *= 2) {
    offset /= 2;
    __syncthreads();
    if (t < nodes) {
      const int left = offset * (2 * t + 1) - 1, right = offset * (2 * t + 2) - 1;
      const int value = data[left];
      data[left] = data[right];
      data[right] += value;
    }
  }
  __syncthreads();
  for (int k = t; k < count; k += blockDim.x) out[k] = data[k];
}

// Two arrays of different types in one allocation of 72 KB; every thread reduces a far-away slice.
__global__ void big_reduction(const int64_t* in, int64_t* sums, int* smallest, int count) {
  int64_t* values = reinterpret_cast<int64_t*>(dynamic_shared);
  int* lows = reinterpret_cast<int*>(dynamic_shared + count * sizeof(int64_t));
  for (int k = threadIdx.x; k < count; k += blockDim.x) {
    values[k] = in[blockIdx.x * count + k];
    lows[k] = static_cast<int>(values[k] & 0xffff);
  }
  __syncthreads();
  // 6,144 is no power of two: when the rest is odd, its middle element waits for the next round.
  for (int rest = count; rest > 1; rest = (rest + 1) / 2) {
    const int half = (rest + 1) / 2;
    for (int k = threadIdx.x; k + half < rest; k += blockDim.x) {
      values[k] += values[k + half];
      lows[k] = min(lows[k], lows[k + half]);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = values[0];
    smallest[blockIdx.x] = lows[0];
  }
}

int main() {
  Report report("block_scan");
  Random random(31);
  {
    const int count = 512;
    std::vector<int> in(count), want(count);
    int sum = 0;
    for (int k = 0; k < count; ++k) {
      in[k] = random.below(1000) - 400;
      want[k] = sum;
      sum += in[k];
    }
    DeviceBuffer<int> input(in), output(count), total(1);
    tree_scan<<<1, count / 2, count * sizeof(int)>>>(input.get(), output.get(), total.get(), count);
    LAUNCHED_OK();
    report.equal("scan", output.download(), want);
    report.equal("total", total.download(), {sum});
  }
  {
    const int count = 6144, blocks = 2;
    const int bytes = count * static_cast<int>(sizeof(int64_t) + sizeof(int));  // 72 KB
    std::vector<int64_t> in(count * blocks), want_sums(blocks, 0);
    std::vector<int> want_low(blocks, 1 << 20);
    for (size_t k = 0; k < in.size(); ++k) {
      in[k] = static_cast<int64_t>(random.next64() >> 16);
      want_sums[k / count] += in[k];
      want_low[k / count] = std::min(want_low[k / count], static_cast<int>(in[k] & 0xffff));
    }
    DeviceBuffer<int64_t> input(in), sums(blocks);
    DeviceBuffer<int> smallest(blocks);
    CUDA_OK(cudaFuncSetAttribute(big_reduction, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    big_reduction<<<blocks, 128, bytes>>>(input.get(), sums.get(), smallest.get(), count);
    LAUNCHED_OK();
    report.equal("big_sums", sums.download(), want_sums);
    report.equal("big_smallest", smallest.download(), want_low);
  }
  return report.finish();
}
