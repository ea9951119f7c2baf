// After a kernel has failed: every call that needs the device repeats the error, queries do not, and a reset
// does not bring the device back.
#include <thread>

#include "expect.cuh"

__global__ void trap() {
  asm("trap;");
}

int main() {
  int* device = nullptr;
  OK(cudaMalloc(&device, 4));
  trap<<<1, 1>>>();
  OK(cudaPeekAtLastError());
  HOLDS(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
  HOLDS(cudaGetLastError() == cudaErrorLaunchFailure);
  HOLDS(cudaGetLastError() == cudaSuccess);
  int host = 0, number = 0;
  GIVES(cudaErrorLaunchFailure, cudaMemcpy(&host, device, 4, cudaMemcpyDeviceToHost));
  GIVES(cudaErrorLaunchFailure, cudaFree(device));
  GIVES(cudaErrorLaunchFailure, cudaStreamSynchronize(nullptr));
  cudaStream_t stream = nullptr;
  GIVES(cudaErrorLaunchFailure, cudaStreamCreate(&stream));
  cudaFuncAttributes attributes;
  GIVES(cudaErrorLaunchFailure, cudaFuncGetAttributes(&attributes, trap));
  trap<<<1, 1>>>();
  GIVES(cudaErrorLaunchFailure, cudaGetLastError());
  std::thread([] {
    HOLDS(cudaPeekAtLastError() == cudaSuccess);
    GIVES(cudaErrorLaunchFailure, cudaDeviceSynchronize());
  }).join();
  cudaDeviceProp properties;
  OK(cudaGetDevice(&number));
  OK(cudaGetDeviceCount(&number));
  OK(cudaSetDevice(0));
  OK(cudaGetDeviceProperties(&properties, 0));
  OK(cudaDeviceGetAttribute(&number, cudaDevAttrMultiProcessorCount, 0));
  OK(cudaDeviceReset());
  GIVES(cudaErrorDevicesUnavailable, cudaMalloc(&device, 4));
  return finish();
}
