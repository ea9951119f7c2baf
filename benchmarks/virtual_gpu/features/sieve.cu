// Primes below 4096: blocks strike out multiples in bits of shared memory.
#include "../programs/check.cuh"

constexpr int kPerBlock = 1024;

__global__ void sieve(int* counts, unsigned* bits) {
  __shared__ unsigned composite[kPerBlock / 32];
  const int low = blockIdx.x * kPerBlock;
  if (threadIdx.x < kPerBlock / 32) composite[threadIdx.x] = 0;
  __syncthreads();
  for (int divisor = 2 + threadIdx.x; divisor * divisor < low + kPerBlock; divisor += blockDim.x) {
    int multiple = (low + divisor - 1) / divisor * divisor;
    if (multiple < 2 * divisor) multiple = 2 * divisor;
    for (; multiple < low + kPerBlock; multiple += divisor)
      atomicOr(&composite[(multiple - low) / 32], 1u << ((multiple - low) % 32));
  }
  __syncthreads();
  if (threadIdx.x >= kPerBlock / 32) return;
  unsigned prime = ~composite[threadIdx.x];
  if (low == 0 && threadIdx.x == 0) prime &= ~3u;
  bits[low / 32 + threadIdx.x] = prime;
  atomicAdd(counts, __popc(prime));
}

int main() {
  Report report("sieve");
  DeviceBuffer<int> count(1);
  DeviceBuffer<unsigned> bits(4 * kPerBlock / 32);
  count.fill_bytes(0);
  sieve<<<4, 64>>>(count.get(), bits.get());
  LAUNCHED_OK();
  std::vector<unsigned> want(4 * kPerBlock / 32);
  int primes = 0;
  for (int n = 2; n < 4 * kPerBlock; ++n) {
    bool prime = true;
    for (int d = 2; d * d <= n; ++d) prime &= n % d != 0;
    if (prime) want[n / 32] |= 1u << (n % 32);
    primes += prime;
  }
  report.equal("bits", bits.download(), want);
  report.equal("count", count.download(), {primes});
  return report.finish();
}
