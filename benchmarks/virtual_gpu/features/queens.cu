// Solutions of the eight queens problem, counted with a stack of each thread's own.
#include "../programs/check.cuh"

constexpr int kSize = 8;

__host__ __device__ int solutions(int first, int second) {
  unsigned columns[kSize], left[kSize], right[kSize], open[kSize];
  const unsigned all = (1u << kSize) - 1, a = 1u << first, b = 1u << second;
  if ((b & (a | a << 1 | a >> 1)) != 0) return 0;
  int row = 2, count = 0;
  columns[2] = a | b;
  left[2] = (a << 2 | b << 1) & all;
  right[2] = a >> 2 | b >> 1;
  open[2] = all & ~(columns[2] | left[2] | right[2]);
  while (row >= 2) {
    if (open[row] == 0) {
      --row;
      continue;
    }
    const unsigned place = open[row] & (0u - open[row]);
    open[row] ^= place;
    if (row == kSize - 1) {
      ++count;
      continue;
    }
    columns[row + 1] = columns[row] | place;
    left[row + 1] = ((left[row] | place) << 1) & all;
    right[row + 1] = (right[row] | place) >> 1;
    ++row;
    open[row] = all & ~(columns[row] | left[row] | right[row]);
  }
  return count;
}

__global__ void count(int* total, int* each) {
  const int i = threadIdx.x, found = solutions(i / kSize, i % kSize);
  each[i] = found;
  atomicAdd(total, found);
}

int main() {
  Report report("queens");
  DeviceBuffer<int> total(1), each(kSize * kSize);
  total.fill_bytes(0);
  count<<<1, kSize * kSize>>>(total.get(), each.get());
  LAUNCHED_OK();
  std::vector<int> want;
  for (int i = 0; i < kSize * kSize; ++i) want.push_back(solutions(i / kSize, i % kSize));
  report.equal("each", each.download(), want);
  report.equal("total", total.download(), {92});
  return report.finish();
}
