// Two warps produce and two consume, with two numbered barriers between them and two buffers in turn.
#include "../programs/check.cuh"

constexpr int kRounds = 6, kHalf = 64;

__device__ void wait_at(int number) {
  asm volatile("bar.sync %0, 128;" ::"r"(number) : "memory");
}
__device__ void arrive_at(int number) {
  asm volatile("bar.arrive %0, 128;" ::"r"(number) : "memory");
}

__global__ void roles(const int* in, int* out) {
  __shared__ int buffer[2][kHalf];
  const int i = threadIdx.x % kHalf;
  if (threadIdx.x < kHalf) {
    for (int round = 0; round < kRounds; ++round) {
      if (round >= 2) wait_at(3 + round % 2);  // until the buffer is empty
      buffer[round % 2][i] = in[round * kHalf + i] * 2;
      arrive_at(1 + round % 2);
    }
  } else {
    for (int round = 0; round < kRounds; ++round) {
      wait_at(1 + round % 2);
      out[round * kHalf + i] = buffer[round % 2][kHalf - 1 - i];
      if (round + 2 < kRounds) arrive_at(3 + round % 2);
    }
  }
}

int main() {
  Report report("named_roles");
  std::vector<int> values(kRounds * kHalf), want(kRounds * kHalf);
  for (int i = 0; i < kRounds * kHalf; ++i) values[i] = i * 5 % 113;
  for (int i = 0; i < kRounds * kHalf; ++i) want[i] = 2 * values[i / kHalf * kHalf + kHalf - 1 - i % kHalf];
  DeviceBuffer<int> input(values), output(kRounds * kHalf);
  roles<<<1, 2 * kHalf>>>(input.get(), output.get());
  LAUNCHED_OK();
  report.equal("through", output.download(), want);
  return report.finish();
}
