// A table of device functions, called by an index that differs between lanes.
#include "../programs/check.cuh"

using Function = int (*)(int);
__device__ int negate(int x) {
  return -x;
}
__device__ int square_it(int x) {
  return x * x;
}
__device__ int plus_seven(int x) {
  return x + 7;
}
__device__ Function functions[3] = {negate, square_it, plus_seven};

__global__ void apply(const int* values, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int value = values[i];
  for (int step = 0; step < 3; ++step) value = functions[(i + step) % 3](value);
  out[i] = value;
}

int main() {
  Report report("function_table");
  std::vector<int> values(96), want(96);
  for (int i = 0; i < 96; ++i) {
    int value = values[i] = i - 40;
    for (int step = 0; step < 3; ++step) {
      const int which = (i + step) % 3;
      value = which == 0 ? -value : which == 1 ? value * value : value + 7;
    }
    want[i] = value;
  }
  DeviceBuffer<int> input(values), output(96);
  apply<<<2, 48>>>(input.get(), output.get());
  LAUNCHED_OK();
  report.equal("values", output.download(), want);
  return report.finish();
}
