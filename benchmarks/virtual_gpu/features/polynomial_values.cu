// Polynomials modulo a prime at many points, in chunks whose results a second kernel joins.
#include "../programs/check.cuh"

constexpr uint64_t kPrime = (1ull << 31) - 1;
constexpr int kDegree = 256, kChunks = 8, kPoints = 40;

__host__ __device__ uint64_t horner(const uint64_t* c, int n, uint64_t x) {
  uint64_t value = 0;
#pragma unroll 1
  for (int i = n - 1; i >= 0; --i) value = (value * x + c[i]) % kPrime;
  return value;
}

__host__ __device__ uint64_t power(uint64_t base, int exponent) {
  uint64_t result = 1;
#pragma unroll 1  // the compiler would take minutes over the unrolled divisions
  for (int i = 0; i < exponent; ++i) result = result * base % kPrime;
  return result;
}

__global__ void chunks(const uint64_t* c, const uint64_t* x, uint64_t* parts) {
  constexpr int kEach = kDegree / kChunks;
  const int point = threadIdx.x, chunk = blockIdx.x;
  parts[chunk * kPoints + point] = horner(c + chunk * kEach, kEach, x[point]);
}

__global__ void join(const uint64_t* parts, const uint64_t* x, uint64_t* out) {
  uint64_t column[kChunks];
  for (int i = 0; i < kChunks; ++i) column[i] = parts[i * kPoints + threadIdx.x];
  out[threadIdx.x] = horner(column, kChunks, power(x[threadIdx.x], kDegree / kChunks));
}

int main() {
  Report report("polynomial_values");
  Random random(57);
  std::vector<uint64_t> c(kDegree), x(kPoints), want;
  for (uint64_t& value : c) value = random.next64() % kPrime;
  for (uint64_t& value : x) value = random.next64() % kPrime;
  for (uint64_t value : x) want.push_back(horner(c.data(), kDegree, value));
  DeviceBuffer<uint64_t> dc(c), dx(x), parts(kChunks * kPoints), output(kPoints);
  chunks<<<kChunks, kPoints>>>(dc.get(), dx.get(), parts.get());
  join<<<1, kPoints>>>(parts.get(), dx.get(), output.get());
  LAUNCHED_OK();
  report.equal("values", output.download(), want);
  return report.finish();
}
