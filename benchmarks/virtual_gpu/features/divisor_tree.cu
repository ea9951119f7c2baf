// The greatest common divisor of many numbers: a tree of loops whose lengths nobody knows before.
#include "../programs/check.cuh"

__host__ __device__ unsigned gcd(unsigned a, unsigned b) {
  while (b != 0) {
    const unsigned rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

__global__ void reduce(const unsigned* in, unsigned* out) {
  __shared__ unsigned tile[128];
  tile[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  __syncthreads();
  for (unsigned half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) tile[threadIdx.x] = gcd(tile[threadIdx.x], tile[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = tile[0];
}

int main() {
  Report report("divisor_tree");
  Random random(47);
  const unsigned common[4] = {1, 6, 35, 1024};
  std::vector<unsigned> values(4 * 128), want(4);
  for (int i = 0; i < 4 * 128; ++i) values[i] = common[i / 128] * (1 + random.next32() % 4000);
  for (int i = 0; i < 4 * 128; ++i) want[i / 128] = gcd(values[i], want[i / 128]);
  DeviceBuffer<unsigned> input(values), output(4);
  reduce<<<4, 128>>>(input.get(), output.get());
  LAUNCHED_OK();
  report.equal("divisors", output.download(), want);
  return report.finish();
}
