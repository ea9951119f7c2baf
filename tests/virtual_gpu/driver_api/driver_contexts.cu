// cuInit, devices, contexts and entry points by name.
#include "driver.cuh"

void entry_points() {
  void* found = nullptr;
  CUdriverProcAddressQueryResult status{};
  DONE(cuGetProcAddress("cuMemAlloc", &found, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
  HOLDS(status == CU_GET_PROC_ADDRESS_SUCCESS);
  auto* const allocate = reinterpret_cast<CUresult (*)(CUdeviceptr*, size_t)>(found);
  CUdeviceptr memory = 0;
  DONE(allocate(&memory, 64));
  DONE(cuMemFree(memory));
  DONE(cuGetProcAddress("cuNothing", &found, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
  HOLDS(status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND && found == nullptr);

  cudaDriverEntryPointQueryResult known{};
  OK(cudaGetDriverEntryPointByVersion("cuDriverGetVersion", &found, 12000, cudaEnableDefault, &known));
  HOLDS(known == cudaDriverEntryPointSuccess && found != nullptr);
  int version = 0;
  DONE(reinterpret_cast<CUresult (*)(int*)>(found)(&version));
  HOLDS(version >= 13000);
  OK(cudaGetDriverEntryPointByVersion("cuNothing", &found, 12000, cudaEnableDefault, &known));
  HOLDS(known == cudaDriverEntryPointSymbolNotFound && found == nullptr);
}

int main() {
  CUdevice device = -1;
  int count = 0, value = 0;
  CUdeviceptr memory;
  ANSWERS(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGet(&device, 0));
  DONE(cuInit(0));
  DONE(cuDeviceGetCount(&count));
  HOLDS(count >= 1);
  DONE(cuDeviceGet(&device, 0));
  ANSWERS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, count));
  char name[256] = "";
  DONE(cuDeviceGetName(name, sizeof name, 0));
  HOLDS(std::strlen(name) > 0);
  DONE(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
  HOLDS(value == 32);
  DONE(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
  HOLDS(value >= 8);
  ANSWERS(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&memory, 64));

  CUcontext first = nullptr, second = nullptr, seen = nullptr;
  DONE(cuCtxGetCurrent(&seen));
  HOLDS(seen == nullptr);
  DONE(cuCtxCreate(&first, nullptr, 0, 0));
  DONE(cuCtxCreate(&second, nullptr, CU_CTX_SCHED_BLOCKING_SYNC, 0));
  DONE(cuCtxGetCurrent(&seen));
  HOLDS(seen == second);
  DONE(cuCtxPopCurrent(&seen));
  HOLDS(seen == second);
  DONE(cuCtxGetCurrent(&seen));
  HOLDS(seen == first);
  DONE(cuCtxPushCurrent(second));
  DONE(cuCtxGetDevice(&device));
  HOLDS(device == 0);
  DONE(cuMemAlloc(&memory, 64));
  DONE(cuMemFree(memory));
  DONE(cuCtxSynchronize());
  DONE(cuCtxDestroy(second));
  DONE(cuCtxGetCurrent(&seen));
  HOLDS(seen == first);
  entry_points();
  DONE(cuCtxDestroy(first));

  const char* text = nullptr;
  DONE(cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &text));
  HOLDS(std::strcmp(text, "CUDA_ERROR_INVALID_VALUE") == 0);
  DONE(cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &text));
  HOLDS(std::strcmp(text, "invalid argument") == 0);
  ANSWERS(CUDA_ERROR_INVALID_VALUE, cuGetErrorName(static_cast<CUresult>(12345), &text));
  return finish();
}
