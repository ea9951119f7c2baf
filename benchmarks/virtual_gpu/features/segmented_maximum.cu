// The largest value so far in each segment: a scan of pairs of a flag and a value.
#include <algorithm>

#include "../programs/check.cuh"

constexpr int kCount = 192;

__global__ void scan(const int* values, const int* starts, int* out) {
  __shared__ int value[kCount], start[kCount];
  const int i = threadIdx.x;
  value[i] = values[i];
  start[i] = starts[i];
  __syncthreads();
  for (int step = 1; step < kCount; step *= 2) {
    int best = value[i], begun = start[i];
    if (i >= step && !begun) {
      best = max(best, value[i - step]);
      begun = start[i - step];
    }
    __syncthreads();
    value[i] = best;
    start[i] = begun;
    __syncthreads();
  }
  out[i] = value[i];
}

int main() {
  Report report("segmented_maximum");
  Random random(32);
  std::vector<int> values(kCount), starts(kCount), want(kCount);
  int best = 0;
  for (int i = 0; i < kCount; ++i) {
    values[i] = random.below(1000);
    starts[i] = random.below(12) == 0;
    want[i] = best = i == 0 || starts[i] ? values[i] : std::max(best, values[i]);
  }
  DeviceBuffer<int> d_values(values), d_starts(starts), output(kCount);
  scan<<<1, kCount>>>(d_values.get(), d_starts.get(), output.get());
  LAUNCHED_OK();
  report.equal("best", output.download(), want);
  return report.finish();
}
