// Functions that the virtual GPU does not have answer cudaErrorNotSupported and leave it as the last error.
#include "expect.cuh"

int main() {
  cudaArray_t array = nullptr;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  HOLDS(format.x == 32 && format.f == cudaChannelFormatKindFloat);
  HOLDS(cudaMallocArray(&array, &format, 16) == cudaErrorNotSupported);
  HOLDS(cudaGetLastError() == cudaErrorNotSupported);
  HOLDS(cudaMallocArray(&array, &format, 16) == cudaErrorNotSupported);
  int host[4] = {};
  HOLDS(cudaHostRegister(host, sizeof host, 0) == cudaErrorNotSupported);
  HOLDS(cudaGetLastError() == cudaErrorNotSupported);
  return finish();
}
