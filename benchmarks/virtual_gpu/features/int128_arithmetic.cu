// 128-bit integers in device code: products, sums with carries, shifts and comparisons.
#include "../programs/check.cuh"

using Wide = unsigned __int128;

__host__ __device__ void calculate(uint64_t a, uint64_t b, uint64_t* out) {
  const Wide product = static_cast<Wide>(a) * b, sum = product + a, shifted = sum << (b & 63);
  const Wide mixed = (shifted >> 17) ^ (product - b);
  out[0] = static_cast<uint64_t>(product >> 64);
  out[1] = static_cast<uint64_t>(sum);
  out[2] = static_cast<uint64_t>(shifted >> 64);
  out[3] = static_cast<uint64_t>(mixed);
  out[4] = static_cast<uint64_t>(mixed >> 64);
  out[5] = product < shifted;
}

__global__ void wide(const uint64_t* a, const uint64_t* b, uint64_t* out) {
  const int i = threadIdx.x;
  calculate(a[i], b[i], out + 6 * i);
}

int main() {
  Report report("int128_arithmetic");
  Random random(12);
  std::vector<uint64_t> a(128), b(128), want(6 * 128);
  for (int i = 0; i < 128; ++i) {
    a[i] = random.next64() >> random.below(60);
    b[i] = random.next64() >> random.below(60);
    calculate(a[i], b[i], want.data() + 6 * i);
  }
  DeviceBuffer<uint64_t> da(a), db(b), output(6 * 128);
  wide<<<1, 128>>>(da.get(), db.get(), output.get());
  LAUNCHED_OK();
  report.equal("values", output.download(), want);
  return report.finish();
}
