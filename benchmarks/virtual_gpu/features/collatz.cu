// The longest Collatz sequence of many starts: loops of very different lengths, and a maximum of pairs.
#include "../programs/check.cuh"

__host__ __device__ unsigned steps(unsigned long long n) {
  unsigned count = 0;
  for (; n != 1; ++count) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
  return count;
}

__global__ void longest(unsigned first, unsigned count, unsigned long long* best) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const unsigned long long packed =
      static_cast<unsigned long long>(steps(first + i)) << 32 | (~(first + i) & 0xffffffffu);
  atomicMax(best, packed);
}

int main() {
  Report report("collatz");
  constexpr unsigned kFirst = 1, kCount = 1000;
  DeviceBuffer<unsigned long long> best(1);
  best.fill_bytes(0);
  longest<<<8, 128>>>(kFirst, kCount, best.get());
  LAUNCHED_OK();
  unsigned most = 0, where = 0;
  for (unsigned n = kFirst; n < kFirst + kCount; ++n)
    if (steps(n) > most) most = steps(where = n);
  const unsigned long long got = best.download()[0];
  report.check(got >> 32 == most && static_cast<unsigned>(~got) == where,
               "the smallest start of the longest");
  report.check(most == 178 && where == 871, "the known answer");
  return report.finish();
}
