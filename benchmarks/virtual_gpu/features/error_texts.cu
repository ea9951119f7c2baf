// Mistakes of the host give errors by name, and the device goes on.
#include "../programs/check.cuh"

__global__ void store(int* out) {
  out[threadIdx.x] = 7;
}

int main() {
  Report report("error_texts");
  DeviceBuffer<int> output(32);
  store<<<1, 2000>>>(output.get());
  report.check(cudaPeekAtLastError() == cudaErrorInvalidValue, "too many threads");
  report.check(cudaGetLastError() == cudaErrorInvalidValue, "still there");
  report.check(cudaGetLastError() == cudaSuccess, "and then gone");
  store<<<0, 32>>>(output.get());
  report.check(cudaGetLastError() == cudaErrorInvalidValue, "no blocks");
  report.check(cudaSetDevice(1000) == cudaErrorInvalidDevice, "no such device");
  cudaGetLastError();
  report.check(std::strcmp(cudaGetErrorName(cudaErrorInvalidDevice), "cudaErrorInvalidDevice") == 0,
               "a name");
  report.check(std::strlen(cudaGetErrorString(cudaErrorInvalidValue)) > 0, "a text");
  store<<<1, 32>>>(output.get());
  LAUNCHED_OK();
  report.equal("stored", output.download(), std::vector<int>(32, 7));
  return report.finish();
}
