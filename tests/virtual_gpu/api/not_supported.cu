// Functions that the virtual GPU does not have answer cudaErrorNotSupported and leave it as the last error.
#include "expect.cuh"

int main() {
  cudaMipmappedArray_t array = nullptr;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  HOLDS(format.x == 32 && format.f == cudaChannelFormatKindFloat);
  HOLDS(cudaMallocMipmappedArray(&array, &format, {16, 0, 0}, 2) == cudaErrorNotSupported);
  HOLDS(cudaGetLastError() == cudaErrorNotSupported);
  HOLDS(cudaMallocMipmappedArray(&array, &format, {16, 0, 0}, 2) == cudaErrorNotSupported);
  cudaIpcMemHandle_t handle;
  HOLDS(cudaIpcGetMemHandle(&handle, nullptr) == cudaErrorNotSupported);
  HOLDS(cudaGetLastError() == cudaErrorNotSupported);
  return finish();
}
