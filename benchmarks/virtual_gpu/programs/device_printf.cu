// printf from a kernel, one thread at a time, with the usual conversions, and an assert that holds.
// expect: integers -7 4294967295 deadbeef -1234567890123 18446744073709551615
// expect: reals 3.14 -0.500000 1.5e+10 [  2.25]
// expect: text hello from block 2 % c=Z [padded    ] [00042]
// expect: plain
// expect: lane 0 of warp 0
// expect: lane 5 of warp 1
#include <cassert>

#include "check.cuh"

__global__ void print_values(const int* numbers, const double* reals, int* returned) {
  assert(numbers[0] < 0);
  returned[0] = printf("integers %d %u %x %lld %llu\n", numbers[0], 4294967295u, 0xdeadbeefu,
                       -1234567890123ll, 18446744073709551615ull);
  returned[1] = printf("reals %.2f %f %g [%6.2f]\n", reals[0], reals[1], reals[2], 2.25f);
  returned[2] = printf("text %s from block %d %% c=%c [%-10s] [%05d]\n", numbers[1] > 0 ? "hello" : "goodbye",
                       numbers[1], 'Z', "padded", 42);
  returned[3] = printf("plain\n");
}

__global__ void print_lanes() {
  if (threadIdx.x == 0) printf("lane %d of warp %d\n", threadIdx.x % 32, threadIdx.x / 32);
  __syncthreads();
  if (threadIdx.x == 37) printf("lane %d of warp %d\n", threadIdx.x % 32, threadIdx.x / 32);
}

int main() {
  Report report("device_printf");
  DeviceBuffer<int> numbers(std::vector<int>{-7, 2}), returned(4);
  DeviceBuffer<double> reals(std::vector<double>{3.14159, -0.5, 1.5e10});
  print_values<<<1, 1>>>(numbers.get(), reals.get(), returned.get());
  LAUNCHED_OK();
  // On the device printf returns the number of arguments after the format.
  report.equal("returned", returned.download(), {5, 4, 5, 0});
  print_lanes<<<1, 64>>>();
  LAUNCHED_OK();
  return report.finish();
}
