// Refused calls answer with an error code, leave the device usable and are forgotten once asked for. Each
// `answer` line is compared between devices.
#include "check.cuh"

__global__ void touch(int* out) {
  out[threadIdx.x] = 1;
}

// Notes the code, checks that peeking keeps it and getting clears it.
void expect_error(Report& report, const char* what, cudaError_t returned) {
  const cudaError_t peeked = cudaPeekAtLastError(), again = cudaPeekAtLastError(), got = cudaGetLastError();
  std::printf("answer %s %s\n", what, cudaGetErrorName(got));
  report.check(returned != cudaSuccess, what);
  report.check(peeked == returned && again == returned && got == returned, "peeking keeps the error");
  report.check(cudaGetLastError() == cudaSuccess, "getting the error clears it");
}

int main() {
  Report report("error_handling");
  DeviceBuffer<int> data(1024);
  data.fill_bytes(0);

  touch<<<1, 1025>>>(data.get());
  report.check(cudaPeekAtLastError() == cudaErrorInvalidValue,
               "1,025 threads are refused as an invalid value");
  expect_error(report, "threads_1025", cudaPeekAtLastError());
  touch<<<1, 32, 300 * 1024>>>(data.get());
  expect_error(report, "shared_300_kb", cudaPeekAtLastError());
  touch<<<1, 32, 50 * 1024>>>(data.get());
  expect_error(report, "shared_50_kb_not_asked_for", cudaPeekAtLastError());
  touch<<<0, 32>>>(data.get());
  expect_error(report, "empty_grid", cudaPeekAtLastError());
  touch<<<1, dim3(1, 1, 65)>>>(data.get());
  expect_error(report, "block_z_65", cudaPeekAtLastError());
  touch<<<dim3(1, 65536), 1>>>(data.get());
  expect_error(report, "grid_y_65536", cudaPeekAtLastError());

  expect_error(report, "shared_attribute_10_mb",
               cudaFuncSetAttribute(touch, cudaFuncAttributeMaxDynamicSharedMemorySize, 10 << 20));
  void* huge = nullptr;
  expect_error(report, "malloc_2_to_50", cudaMalloc(&huge, size_t{1} << 50));
  expect_error(report, "set_device_99", cudaSetDevice(99));
  cudaDeviceProp properties;
  expect_error(report, "properties_of_99", cudaGetDeviceProperties(&properties, 99));
  cudaEvent_t first, second;
  CUDA_OK(cudaEventCreate(&first));
  CUDA_OK(cudaEventCreate(&second));
  float milliseconds;
  expect_error(report, "elapsed_of_unrecorded", cudaEventElapsedTime(&milliseconds, first, second));
  CUDA_OK(cudaEventDestroy(first));
  CUDA_OK(cudaEventDestroy(second));
  int host = 0;
  expect_error(report, "copy_kind_77", cudaMemcpy(data.get(), &host, 4, static_cast<cudaMemcpyKind>(77)));

  // The device still works, and a success does not wipe an error nobody has asked for.
  touch<<<1, 1025>>>(data.get());
  touch<<<1, 32>>>(data.get());
  CUDA_OK(cudaDeviceSynchronize());
  report.check(cudaGetLastError() == cudaErrorInvalidValue, "a later success keeps the error");
  std::vector<int> want(1024, 0);
  for (int i = 0; i < 32; ++i) want[i] = 1;
  report.equal("still_works", data.download(), want);

  const struct {
    cudaError_t code;
    const char *name, *text;
  } known[] = {
      {cudaSuccess, "cudaSuccess", "no error"},
      {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
      {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
      {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
      {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
      {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
      {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
      {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
      {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
      {cudaErrorAssert, "cudaErrorAssert", "device-side assert triggered"}};
  for (const auto& error : known) {
    report.check(std::strcmp(cudaGetErrorName(error.code), error.name) == 0, error.name);
    report.check(std::strcmp(cudaGetErrorString(error.code), error.text) == 0, error.text);
  }
  return report.finish();
}
