// A number-theoretic transform of 64 elements in shared memory, there and back again.
#include "../programs/check.cuh"

constexpr uint32_t kPrime = 998244353, kRoot = 3;
constexpr int kSize = 64;

__host__ __device__ uint32_t times(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(static_cast<uint64_t>(a) * b % kPrime);
}

__host__ __device__ uint32_t power(uint32_t base, uint32_t exponent) {
  uint32_t result = 1;
  for (; exponent > 0; exponent /= 2, base = times(base, base))
    if (exponent % 2 == 1) result = times(result, base);
  return result;
}

__global__ void transform(uint32_t* values, bool back) {
  __shared__ uint32_t tile[kSize];
  const unsigned i = threadIdx.x;
  for (unsigned half = 0; half < 2; ++half) {
    const unsigned at = i + half * kSize / 2;
    tile[__brev(at) >> 26] = values[at];
  }
  __syncthreads();
  for (unsigned length = 2; length <= kSize; length *= 2) {
    uint32_t root = power(kRoot, (kPrime - 1) / length);
    if (back) root = power(root, kPrime - 2);
    const unsigned place = i % (length / 2), low = i / (length / 2) * length + place, high = low + length / 2;
    const uint32_t a = tile[low], b = times(tile[high], power(root, place));
    tile[low] = (a + b) % kPrime;
    tile[high] = (a + kPrime - b) % kPrime;
    __syncthreads();
  }
  const uint32_t scale = back ? power(kSize, kPrime - 2) : 1;
  values[i] = times(tile[i], scale);
  values[i + kSize / 2] = times(tile[i + kSize / 2], scale);
}

int main() {
  Report report("number_transform");
  Random random(14);
  std::vector<uint32_t> values(kSize), want(kSize);
  for (uint32_t& value : values) value = random.next32() % kPrime;
  const uint32_t root = power(kRoot, (kPrime - 1) / kSize);
  for (uint32_t i = 0; i < kSize; ++i)
    for (uint32_t j = 0; j < kSize; ++j)
      want[i] = (want[i] + times(values[j], power(root, i * j % kSize))) % kPrime;
  DeviceBuffer<uint32_t> device(values);
  transform<<<1, kSize / 2>>>(device.get(), false);
  LAUNCHED_OK();
  report.equal("there", device.download(), want);
  transform<<<1, kSize / 2>>>(device.get(), true);
  LAUNCHED_OK();
  report.equal("back", device.download(), values);
  return report.finish();
}
