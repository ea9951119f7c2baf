// The smallest double by compare-and-swap on 64 bits, among negative numbers and zeros too.
#include "../programs/check.cuh"

__global__ void smallest(const double* values, int n, unsigned long long* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long seen = *reinterpret_cast<volatile unsigned long long*>(out);
  while (values[i] < __longlong_as_double(static_cast<long long>(seen))) {
    const unsigned long long before =
        atomicCAS(out, seen, static_cast<unsigned long long>(__double_as_longlong(values[i])));
    if (before == seen) return;
    seen = before;
  }
}

int main() {
  Report report("double_minimum");
  Random random(50);
  std::vector<double> values(900);
  double want = 1e300;
  for (double& value : values) {
    value = static_cast<double>(static_cast<int64_t>(random.next64())) * 1e-9;
    want = value < want ? value : want;
  }
  DeviceBuffer<double> input(values), output(std::vector<double>{1e300});
  smallest<<<blocks_for(900, 96), 96>>>(input.get(), 900,
                                        reinterpret_cast<unsigned long long*>(output.get()));
  LAUNCHED_OK();
  report.equal("smallest", output.download(), {want});
  return report.finish();
}
