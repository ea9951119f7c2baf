// Arguments that a call refuses, and with which error.
#include "expect.cuh"

__global__ void kernel(int* out) {
  if (out != nullptr) *out = 1;
}
int not_a_kernel = 0;

int main() {
  int host[64] = {};
  char* device = nullptr;
  OK(cudaMalloc(&device, 256));
  GIVES(cudaErrorInvalidValue, cudaMemcpy(nullptr, host, 4, cudaMemcpyHostToDevice));
  GIVES(cudaErrorInvalidValue, cudaMemcpy(device, nullptr, 4, cudaMemcpyHostToDevice));
  OK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice));
  GIVES(cudaErrorInvalidMemcpyDirection, cudaMemcpy(device, host, 4, static_cast<cudaMemcpyKind>(9)));
  GIVES(cudaErrorInvalidValue, cudaMemcpy(host + 1, host, 4, cudaMemcpyDeviceToDevice));
  GIVES(cudaErrorInvalidPitchValue, cudaMemcpy2D(device, 8, host, 16, 12, 2, cudaMemcpyHostToDevice));
  GIVES(cudaErrorInvalidPitchValue, cudaMemcpy2D(device, 16, host, 8, 12, 2, cudaMemcpyHostToDevice));
  GIVES(cudaErrorInvalidValue, cudaMemcpy2D(device, 4, host, 4, 8, 1, cudaMemcpyHostToDevice));
  OK(cudaMemcpy2D(device, 16, host, 16, 0, 2, cudaMemcpyHostToDevice));
  GIVES(cudaErrorInvalidValue, cudaMemset(nullptr, 0, 4));
  GIVES(cudaErrorInvalidValue, cudaMemset(host, 0, 4));
  GIVES(cudaErrorInvalidValue, cudaMemset2D(device, 8, 0, 16, 2));

  void* arguments[] = {&device};
  GIVES(cudaErrorInvalidDeviceFunction,
        cudaLaunchKernel(static_cast<const void*>(nullptr), 1, 1, arguments, 0, 0));
  GIVES(cudaErrorInvalidResourceHandle,
        cudaLaunchKernel(static_cast<const void*>(&not_a_kernel), 1, 1, arguments, 0, 0));
  cudaKernel_t handle = nullptr;
  GIVES(cudaErrorInvalidDeviceFunction, cudaGetKernel(&handle, static_cast<const void*>(&not_a_kernel)));
  cudaFuncAttributes attributes;
  GIVES(cudaErrorInvalidValue, cudaFuncGetAttributes(nullptr, kernel));
  GIVES(cudaErrorInvalidResourceHandle,
        cudaFuncGetAttributes(&attributes, static_cast<const void*>(&not_a_kernel)));
  GIVES(cudaErrorInvalidValue, cudaFuncSetCacheConfig(kernel, static_cast<cudaFuncCache>(9)));
  GIVES(cudaErrorInvalidValue, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, -1));
  int blocks = 0;
  GIVES(cudaErrorInvalidValue, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 0, 0));

  kernel<<<0, 1>>>(nullptr);
  GIVES(cudaErrorInvalidValue, cudaGetLastError());
  kernel<<<1, 1025>>>(nullptr);
  GIVES(cudaErrorInvalidValue, cudaGetLastError());
  kernel<<<1, dim3(1, 1, 65)>>>(nullptr);
  GIVES(cudaErrorInvalidValue, cudaGetLastError());
  kernel<<<1, 1, 300 * 1024>>>(nullptr);
  GIVES(cudaErrorInvalidValue, cudaGetLastError());

  cudaStream_t stream = nullptr;
  GIVES(cudaErrorInvalidValue, cudaStreamCreate(nullptr));
  GIVES(cudaErrorInvalidValue, cudaStreamCreateWithFlags(&stream, 77));
  GIVES(cudaErrorInvalidResourceHandle, cudaStreamDestroy(nullptr));
  GIVES(cudaErrorInvalidResourceHandle, cudaStreamDestroy(cudaStreamLegacy));
  GIVES(cudaErrorInvalidValue, cudaLaunchHostFunc(nullptr, nullptr, nullptr));
  cudaEvent_t event = nullptr;
  GIVES(cudaErrorInvalidValue, cudaEventCreate(static_cast<cudaEvent_t*>(nullptr)));
  GIVES(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, 0x80));
  GIVES(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, cudaEventInterprocess));
  GIVES(cudaErrorInvalidResourceHandle, cudaEventRecord(nullptr));
  GIVES(cudaErrorInvalidResourceHandle, cudaEventQuery(nullptr));
  GIVES(cudaErrorInvalidResourceHandle, cudaEventDestroy(nullptr));
  GIVES(cudaErrorInvalidResourceHandle, cudaStreamWaitEvent(nullptr, nullptr, 0));

  cudaGraphExec_t executable = nullptr;
  GIVES(cudaErrorInvalidValue, cudaGraphInstantiate(&executable, nullptr));
  GIVES(cudaErrorInvalidValue, cudaGraphLaunch(nullptr, nullptr));
  GIVES(cudaErrorInvalidValue, cudaGraphDestroy(nullptr));
  GIVES(cudaErrorInvalidValue, cudaGraphExecDestroy(nullptr));

  int value = 0;
  cudaDeviceProp properties;
  GIVES(cudaErrorInvalidValue, cudaGetDeviceCount(nullptr));
  GIVES(cudaErrorInvalidDevice, cudaSetDevice(-1));
  GIVES(cudaErrorInvalidDevice, cudaGetDeviceProperties(&properties, 99));
  GIVES(cudaErrorInvalidValue, cudaGetDeviceProperties(nullptr, 0));
  GIVES(cudaErrorInvalidDevice, cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 99));
  GIVES(cudaErrorInvalidValue, cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(9999), 0));
  GIVES(cudaErrorInvalidValue, cudaSetDeviceFlags(0x8000));
  GIVES(cudaErrorInvalidValue, cudaDeviceSetLimit(static_cast<cudaLimit>(99), 1));
  GIVES(cudaErrorInvalidValue, cudaPointerGetAttributes(nullptr, device));
  OK(cudaFree(device));
  return finish();
}
