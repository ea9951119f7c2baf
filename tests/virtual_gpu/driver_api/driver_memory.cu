// Allocation, copies, fills, streams and events of the driver API, and the runtime API beside it.
#include "driver.cuh"

void CUDA_CB count(CUstream, CUresult status, void* data) {
  *static_cast<int*>(data) += status == CUDA_SUCCESS;
}

void copies() {
  unsigned host[16], back[16];
  for (unsigned i = 0; i < 16; ++i) host[i] = i;
  CUdeviceptr a, b;
  DONE(cuMemAlloc(&a, sizeof host));
  DONE(cuMemAlloc(&b, sizeof host));
  DONE(cuMemcpyHtoD(a, host, sizeof host));
  DONE(cuMemcpyDtoD(b, a, sizeof host));
  DONE(cuMemcpyDtoH(back, b, sizeof back));
  HOLDS(std::memcmp(host, back, sizeof host) == 0);
  DONE(cuMemcpy(a, b, sizeof host));

  DONE(cuMemsetD8(a, 0x12, 4));
  DONE(cuMemsetD16(a + 4, 0x3456, 2));
  DONE(cuMemsetD32(a + 8, 0x789abcde, 2));
  DONE(cuMemcpyDtoH(back, a, sizeof back));
  HOLDS(back[0] == 0x12121212 && back[1] == 0x34563456 && back[3] == 0x789abcde && back[4] == 4);
  ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(a + 2, 0, 1));

  CUDA_MEMCPY2D plan{};
  plan.srcMemoryType = CU_MEMORYTYPE_HOST;
  plan.srcHost = host;
  plan.srcPitch = 16;
  plan.srcXInBytes = 4;
  plan.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  plan.dstDevice = b;
  plan.dstPitch = 16;
  plan.WidthInBytes = 8;
  plan.Height = 4;
  DONE(cuMemcpy2D(&plan));
  DONE(cuMemcpyDtoH(back, b, sizeof back));
  HOLDS(back[0] == 1 && back[1] == 2 && back[2] == 2 && back[4] == 5);

  CUdeviceptr base = 0;
  size_t bytes = 0;
  DONE(cuMemGetAddressRange(&base, &bytes, a + 20));
  HOLDS(base == a && bytes == sizeof host);
  ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&base, 0));
  DONE(cuMemFree(a));
  DONE(cuMemFree(b));
}

void pointers() {
  CUdeviceptr device, start = 0;
  void* pinned;
  unsigned type = 0;
  DONE(cuMemAlloc(&device, 100));
  DONE(cuMemAllocHost(&pinned, 100));
  DONE(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device));
  HOLDS(type == CU_MEMORYTYPE_DEVICE);
  DONE(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(pinned)));
  HOLDS(type == CU_MEMORYTYPE_HOST);
  DONE(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, device + 50));
  HOLDS(start == device);
  int local = 0;
  ANSWERS(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                                          reinterpret_cast<CUdeviceptr>(&local)));
  cudaPointerAttributes seen;
  OK(cudaPointerGetAttributes(&seen, reinterpret_cast<void*>(device)));
  HOLDS(seen.type == cudaMemoryTypeDevice);
  OK(cudaFree(reinterpret_cast<void*>(device)));  // either API frees what the other allocated
  DONE(cuMemFreeHost(pinned));
  CUdeviceptr managed, pitched;
  size_t pitch = 0;
  DONE(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
  *reinterpret_cast<int*>(managed) = 5;
  DONE(cuMemFree(managed));
  DONE(cuMemAllocPitch(&pitched, &pitch, 100, 4, 4));
  HOLDS(pitch >= 100 && pitch % 32 == 0);
  DONE(cuMemFree(pitched));
}

void streams() {
  CUstream stream;
  CUevent begin, end;
  DONE(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  DONE(cuEventCreate(&begin, CU_EVENT_DEFAULT));
  DONE(cuEventCreate(&end, CU_EVENT_DEFAULT));
  void* pinned;
  CUdeviceptr a;
  DONE(cuMemHostAlloc(&pinned, 4096, CU_MEMHOSTALLOC_PORTABLE));
  DONE(cuMemAllocAsync(&a, 4096, stream));
  DONE(cuEventRecord(begin, stream));
  DONE(cuMemsetD8Async(a, 7, 4096, stream));
  DONE(cuMemcpyDtoHAsync(pinned, a, 4096, stream));
  DONE(cuEventRecord(end, stream));
  int called = 0;
  DONE(cuStreamAddCallback(stream, count, &called, 0));
  DONE(cuMemFreeAsync(a, stream));
  DONE(cuStreamSynchronize(stream));
  HOLDS(called == 1);
  HOLDS(static_cast<char*>(pinned)[4095] == 7);
  float milliseconds = -1;
  DONE(cuEventElapsedTime(&milliseconds, begin, end));
  HOLDS(milliseconds >= 0);
  DONE(cuStreamQuery(stream));
  OK(cudaStreamSynchronize(stream));  // the same handle in both APIs
  DONE(cuEventDestroy(begin));
  DONE(cuEventDestroy(end));
  DONE(cuStreamDestroy(stream));
  DONE(cuMemFreeHost(pinned));
}

int main() {
  OK(cudaFree(nullptr));  // the runtime API makes the primary context current
  CUcontext context = nullptr;
  DONE(cuCtxGetCurrent(&context));
  HOLDS(context != nullptr);
  copies();
  pointers();
  streams();
  return finish();
}
