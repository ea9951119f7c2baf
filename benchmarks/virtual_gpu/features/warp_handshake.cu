// Warps of a block hand a value on, one after the other, through flags in shared memory.
#include "../programs/check.cuh"

constexpr int kWarps = 6;

__global__ void relay(int rounds, int* out) {
  __shared__ volatile int turn;
  __shared__ volatile int value;
  const int warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    turn = 0;
    value = 1;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    for (int round = 0; round < rounds; ++round) {
      const int mine = round * kWarps + warp;
      while (turn != mine) {
      }
      __threadfence_block();
      value = value * 2 + warp;
      __threadfence_block();
      turn = mine + 1;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) *out = value;
}

int main() {
  Report report("warp_handshake");
  DeviceBuffer<int> output(1);
  relay<<<1, 32 * kWarps>>>(4, output.get());
  LAUNCHED_OK();
  int want = 1;
  for (int i = 0; i < 4 * kWarps; ++i) want = static_cast<int>(static_cast<unsigned>(want) * 2u) + i % kWarps;
  report.equal("value", output.download(), {want});
  return report.finish();
}
