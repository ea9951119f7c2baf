// RSA in small: messages to a power modulo a 62-bit number and back, with 128-bit products.
#include "../programs/check.cuh"

constexpr uint64_t kP = 2147483647, kQ = 2147483629, kN = kP * kQ, kPhi = (kP - 1) * (kQ - 1), kE = 65537;

__host__ __device__ uint64_t times(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b % kN);
}

__host__ __device__ uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent > 0; exponent /= 2, base = times(base, base))
    if (exponent % 2 == 1) result = times(result, base);
  return result;
}

__global__ void encrypt(const uint64_t* in, uint64_t exponent, uint64_t* out) {
  out[threadIdx.x] = power(in[threadIdx.x], exponent);
}

// The inverse of e modulo phi, by the extended algorithm of Euclid.
uint64_t private_exponent() {
  __int128 r = kPhi, next = kE, t = 0, after = 1;
  while (next != 0) {
    const __int128 q = r / next, r2 = r - q * next, t2 = t - q * after;
    r = next;
    next = r2;
    t = after;
    after = t2;
  }
  return static_cast<uint64_t>(t < 0 ? t + kPhi : t);
}

int main() {
  Report report("modular_powers");
  Random random(52);
  std::vector<uint64_t> messages(32), want(32);
  for (int i = 0; i < 32; ++i) want[i] = power(messages[i] = random.next64() % kN, kE);
  DeviceBuffer<uint64_t> input(messages), secret(32), back(32);
  encrypt<<<1, 32>>>(input.get(), kE, secret.get());
  encrypt<<<1, 32>>>(secret.get(), private_exponent(), back.get());
  LAUNCHED_OK();
  report.equal("secret", secret.download(), want);
  report.equal("back", back.download(), messages);
  return report.finish();
}
