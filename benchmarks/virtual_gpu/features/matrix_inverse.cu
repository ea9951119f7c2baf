// Inverses of 6×6 matrices modulo a prime, one per thread, in local arrays with changing indices.
#include "../programs/check.cuh"

constexpr int kSize = 6;
constexpr unsigned kPrime = 65521;

__host__ __device__ unsigned inverse_of(unsigned x) {
  unsigned result = 1, base = x;
  for (unsigned exponent = kPrime - 2; exponent > 0; exponent /= 2, base = base * base % kPrime)
    if (exponent % 2 == 1) result = result * base % kPrime;
  return result;
}

__global__ void invert(const unsigned* in, unsigned* out, int* regular) {
  unsigned m[kSize][2 * kSize];
  for (int i = 0; i < kSize; ++i)
    for (int j = 0; j < 2 * kSize; ++j)
      m[i][j] = j < kSize ? in[(threadIdx.x * kSize + i) * kSize + j] : i == j - kSize;
  bool good = true;
  for (int c = 0; c < kSize && good; ++c) {
    int pivot = c;
    while (pivot < kSize && m[pivot][c] == 0) ++pivot;
    good = pivot < kSize;
    if (!good) break;
    const unsigned scale = inverse_of(m[pivot][c]);
    for (int j = 0; j < 2 * kSize; ++j) {
      const unsigned upper = m[pivot][j] * scale % kPrime;
      m[pivot][j] = m[c][j];
      m[c][j] = upper;
    }
    for (int i = 0; i < kSize; ++i) {
      const unsigned factor = m[i][c];
      if (i == c || factor == 0) continue;
      for (int j = 0; j < 2 * kSize; ++j) m[i][j] = (m[i][j] + (kPrime - factor) * m[c][j]) % kPrime;
    }
  }
  regular[threadIdx.x] = good;
  for (int i = 0; i < kSize; ++i)
    for (int j = 0; j < kSize; ++j) out[(threadIdx.x * kSize + i) * kSize + j] = m[i][kSize + j];
}

int main() {
  Report report("matrix_inverse");
  constexpr int kCount = 48, kEach = kSize * kSize;
  Random random(31);
  std::vector<unsigned> matrices(kCount * kEach);
  for (unsigned& value : matrices)
    value = static_cast<unsigned>(random.below(kPrime)) * (random.below(3) != 0);
  DeviceBuffer<unsigned> input(matrices), output(kCount * kEach);
  DeviceBuffer<int> regular(kCount);
  invert<<<1, kCount>>>(input.get(), output.get(), regular.get());
  LAUNCHED_OK();
  const std::vector<unsigned> inverse = output.download();
  const std::vector<int> good = regular.download();
  int seen = 0;
  for (int m = 0; m < kCount; ++m) {
    if (!good[m]) continue;
    ++seen;
    for (int i = 0; i < kSize; ++i)
      for (int j = 0; j < kSize; ++j) {
        uint64_t sum = 0;
        for (int k = 0; k < kSize; ++k)
          sum +=
              static_cast<uint64_t>(matrices[m * kEach + i * kSize + k]) * inverse[m * kEach + k * kSize + j];
        report.check(sum % kPrime == static_cast<uint64_t>(i == j), "a matrix times its inverse");
      }
  }
  report.check(seen > kCount / 2, "most matrices have an inverse");
  return report.finish();
}
