// The lengths of a permutation's cycles by pointer doubling, and the permutation's inverse.
#include <algorithm>

#include "../programs/check.cuh"

constexpr int kCount = 256;

__global__ void cycles(const int* next, int* least, int* inverse) {
  __shared__ int jump[kCount], low[kCount];
  const int i = threadIdx.x;
  inverse[next[i]] = i;
  jump[i] = next[i];
  low[i] = min(i, next[i]);
  __syncthreads();
  for (int step = 1; step < kCount; step *= 2) {
    const int to = jump[jump[i]], found = min(low[i], low[jump[i]]);
    __syncthreads();
    jump[i] = to;
    low[i] = found;
    __syncthreads();
  }
  least[i] = low[i];
}

int main() {
  Report report("permutation_cycles");
  Random random(55);
  std::vector<int> next(kCount), want(kCount), want_inverse(kCount);
  for (int i = 0; i < kCount; ++i) next[i] = i;
  for (int i = kCount - 1; i > 0; --i) std::swap(next[i], next[random.below(i + 1)]);
  for (int i = 0; i < kCount; ++i) {
    want_inverse[next[i]] = i;
    want[i] = i;
    for (int at = next[i]; at != i; at = next[at]) want[i] = std::min(want[i], at);
  }
  DeviceBuffer<int> input(next), least(kCount), inverse(kCount);
  cycles<<<1, kCount>>>(input.get(), least.get(), inverse.get());
  LAUNCHED_OK();
  report.equal("least", least.download(), want);
  report.equal("inverse", inverse.download(), want_inverse);
  return report.finish();
}
