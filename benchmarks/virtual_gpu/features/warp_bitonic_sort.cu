// 32 numbers sorted in registers: a bitonic network of shuffles.
#include <algorithm>

#include "../programs/check.cuh"

__global__ void sort_warps(unsigned* values) {
  const unsigned lane = threadIdx.x & 31, at = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned mine = values[at];
  for (unsigned size = 2; size <= 32; size *= 2) {
    for (unsigned step = size / 2; step > 0; step /= 2) {
      const unsigned other = __shfl_xor_sync(~0u, mine, step);
      const bool up = (lane & size) == 0, low = (lane & step) == 0;
      mine = up == low ? min(mine, other) : max(mine, other);
    }
  }
  values[at] = mine;
}

int main() {
  Report report("warp_bitonic_sort");
  Random random(4);
  std::vector<unsigned> values(32 * 10);
  for (unsigned& value : values) value = random.next32();
  DeviceBuffer<unsigned> device(values);
  sort_warps<<<5, 64>>>(device.get());
  LAUNCHED_OK();
  for (size_t i = 0; i < values.size(); i += 32) std::sort(values.begin() + i, values.begin() + i + 32);
  report.equal("sorted", device.download(), values);
  return report.finish();
}
