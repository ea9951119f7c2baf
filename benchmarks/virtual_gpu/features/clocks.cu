// Clocks go forward, and a thread that sleeps gives the others their turn.
#include "../programs/check.cuh"

__device__ long long global_timer() {
  long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void watch(int* out) {
  __shared__ volatile int flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  const long long timer = global_timer(), ticks = clock64();
  if (threadIdx.x == 32) {
    __nanosleep(100);
    flag = 1;
  }
  if (threadIdx.x == 0)
    while (flag == 0) __nanosleep(20);
  __syncthreads();
  out[threadIdx.x] = global_timer() >= timer && clock64() > ticks && flag == 1;
}

// A tenth of a second at 2 GHz.
__global__ void wait(long long ticks, int* out) {
  const long long begin = clock64();
  while (clock64() - begin < ticks) {
  }
  *out = clock64() - begin >= ticks;
}

int main() {
  Report report("clocks");
  DeviceBuffer<int> output(64);
  watch<<<1, 64>>>(output.get());
  LAUNCHED_OK();
  report.equal("forward", output.download(), std::vector<int>(64, 1));
  wait<<<1, 1>>>(200'000'000, output.get());
  LAUNCHED_OK();
  report.check(output.download()[0] == 1, "a wait ends when its time has come");
  return report.finish();
}
