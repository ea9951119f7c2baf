// Variables of device code: through their addresses, through copies, and from one launch to the next.
#include "../programs/check.cuh"

__device__ int launches;
__device__ int history[16];

__global__ void remember(int value) {
  history[launches] = value;
  launches += 1;
}

__global__ void scale(int* values, int by) {
  values[threadIdx.x] *= by;
}

int main() {
  Report report("device_variables");
  const int zero = 0;
  CUDA_OK(cudaMemcpyToSymbol(launches, &zero, sizeof zero));
  void* address = nullptr;
  CUDA_OK(cudaGetSymbolAddress(&address, history));
  CUDA_OK(cudaMemset(address, 0, sizeof history));
  for (int i = 0; i < 6; ++i) remember<<<1, 1>>>(10 + i);
  scale<<<1, 16>>>(static_cast<int*>(address), 3);
  LAUNCHED_OK();
  std::vector<int> got(16), want(16);
  for (int i = 0; i < 6; ++i) want[i] = 3 * (10 + i);
  CUDA_OK(cudaMemcpyFromSymbol(got.data(), history, sizeof history));
  report.equal("history", got, want);
  int count = 0;
  CUDA_OK(cudaMemcpyFromSymbol(&count, launches, sizeof count));
  report.check(count == 6, "six launches");
  return report.finish();
}
