// Fibonacci numbers modulo a prime by powers of a matrix, up to very high indices.
#include "../programs/check.cuh"

constexpr uint64_t kPrime = 1000000007;

struct Matrix {
  uint64_t a, b, c, d;
};

__host__ __device__ Matrix operator*(const Matrix& x, const Matrix& y) {
  return {(x.a * y.a + x.b * y.c) % kPrime, (x.a * y.b + x.b * y.d) % kPrime,
          (x.c * y.a + x.d * y.c) % kPrime, (x.c * y.b + x.d * y.d) % kPrime};
}

__host__ __device__ uint64_t fibonacci(uint64_t n) {
  Matrix result{1, 0, 0, 1}, base{1, 1, 1, 0};
  for (; n > 0; n /= 2, base = base * base)
    if (n % 2 == 1) result = result * base;
  return result.b;
}

__global__ void all(const uint64_t* n, uint64_t* out) {
  out[threadIdx.x] = fibonacci(n[threadIdx.x]);
}

int main() {
  Report report("matrix_powers");
  Random random(48);
  std::vector<uint64_t> n(64), want;
  uint64_t previous = 1, current = 0;
  for (int i = 0; i < 64; ++i) n[i] = i < 32 ? static_cast<uint64_t>(i) : random.next64() >> (i - 30);
  for (int i = 0; i < 64; ++i) {
    want.push_back(i < 32 ? current : fibonacci(n[i]));
    const uint64_t next = (previous + current) % kPrime;
    previous = current;
    current = next;
  }
  DeviceBuffer<uint64_t> input(n), output(64);
  all<<<1, 64>>>(input.get(), output.get());
  LAUNCHED_OK();
  report.equal("numbers", output.download(), want);
  return report.finish();
}
