// Whole warps that return early do not hold up the barriers of the others.
#include "../programs/check.cuh"

__global__ void shift(const int* in, int n, int* out) {
  __shared__ int tile[256];
  const int i = threadIdx.x;
  if (i / 32 >= (n + 31) / 32) return;
  tile[i] = i < n ? in[i] : 0;
  __syncthreads();
  const int other = tile[(i + 1) % n];
  __syncthreads();
  if (i < n) out[i] = other;
}

int main() {
  Report report("warps_that_leave");
  for (int n : {96, 100, 250}) {
    std::vector<int> values(n), want(n);
    for (int i = 0; i < n; ++i) values[i] = i * i;
    for (int i = 0; i < n; ++i) want[i] = values[(i + 1) % n];
    DeviceBuffer<int> input(values), output(n);
    shift<<<1, 256>>>(input.get(), n, output.get());
    LAUNCHED_OK();
    report.equal("shifted", output.download(), want);
  }
  return report.finish();
}
