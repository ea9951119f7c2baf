// A linear congruential generator that every thread enters at its own place, by jumping ahead.
#include "../programs/check.cuh"

constexpr uint64_t kA = 6364136223846793005ull, kC = 1442695040888963407ull;

__host__ __device__ uint64_t jump(uint64_t state, uint64_t count) {
  uint64_t a = kA, c = kC, all_a = 1, all_c = 0;
  for (; count > 0; count /= 2) {
    if (count % 2 == 1) {
      all_a *= a;
      all_c = all_c * a + c;
    }
    c *= a + 1;
    a *= a;
  }
  return all_a * state + all_c;
}

__global__ void draw(uint64_t seed, int each, uint32_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  uint64_t state = jump(seed, static_cast<uint64_t>(i) * each);
  for (int j = 0; j < each; ++j) {
    state = kA * state + kC;
    out[i * each + j] = static_cast<uint32_t>(state >> 32);
  }
}

int main() {
  Report report("linear_generator");
  constexpr int kThreads = 96, kEach = 11;
  DeviceBuffer<uint32_t> output(kThreads * kEach);
  draw<<<3, kThreads / 3>>>(12345, kEach, output.get());
  LAUNCHED_OK();
  std::vector<uint32_t> want;
  uint64_t state = 12345;
  for (int i = 0; i < kThreads * kEach; ++i)
    want.push_back(static_cast<uint32_t>((state = kA * state + kC) >> 32));
  report.equal("numbers", output.download(), want);
  return report.finish();
}
