// The largest float by compare-and-swap on its bits: CUDA has no atomicMax for floats.
#include "../programs/check.cuh"

__device__ void atomic_max(float* place, float value) {
  auto* const bits = reinterpret_cast<unsigned*>(place);
  unsigned seen = *bits;
  while (__uint_as_float(seen) < value) {
    const unsigned before = atomicCAS(bits, seen, __float_as_uint(value));
    if (before == seen) break;
    seen = before;
  }
}

__global__ void largest(const float* values, int n, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomic_max(out, values[i]);
}

int main() {
  Report report("atomic_float_maximum");
  Random random(1);
  std::vector<float> values(3000);
  float want = -1e30f;
  for (float& value : values) {
    value = random.uniform(-50, 50);
    want = value > want ? value : want;
  }
  DeviceBuffer<float> input(values), output(std::vector<float>{-1e30f});
  largest<<<blocks_for(3000, 128), 128>>>(input.get(), 3000, output.get());
  LAUNCHED_OK();
  report.equal("largest", output.download(), {want});
  return report.finish();
}
