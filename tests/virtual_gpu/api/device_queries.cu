// The device: its number, properties and attributes agree with each other; settings are kept.
#include "expect.cuh"

namespace {

int attribute(cudaDeviceAttr which) {
  int value = -1;
  OK(cudaDeviceGetAttribute(&value, which, 0));
  return value;
}

}  // namespace

int main() {
  int count = 0, device = -1;
  OK(cudaGetDeviceCount(&count));
  HOLDS(count >= 1);
  OK(cudaSetDevice(0));
  OK(cudaGetDevice(&device));
  HOLDS(device == 0);
  cudaDeviceProp properties{};
  OK(cudaGetDeviceProperties(&properties, 0));
  HOLDS(properties.name[0] != '\0' && properties.totalGlobalMem > 0);
  HOLDS(properties.warpSize == 32 && properties.warpSize == attribute(cudaDevAttrWarpSize));
  HOLDS(properties.major == attribute(cudaDevAttrComputeCapabilityMajor));
  HOLDS(properties.minor == attribute(cudaDevAttrComputeCapabilityMinor));
  HOLDS(properties.multiProcessorCount == attribute(cudaDevAttrMultiProcessorCount));
  HOLDS(properties.maxThreadsPerBlock == 1024 && attribute(cudaDevAttrMaxThreadsPerBlock) == 1024);
  HOLDS(properties.maxThreadsDim[2] == 64 && attribute(cudaDevAttrMaxBlockDimZ) == 64);
  HOLDS(properties.maxGridSize[1] == 65535 && attribute(cudaDevAttrMaxGridDimY) == 65535);
  HOLDS(properties.sharedMemPerBlock == 48 * 1024);
  HOLDS(static_cast<int>(properties.sharedMemPerBlockOptin) ==
        attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  HOLDS(static_cast<int>(properties.sharedMemPerMultiprocessor) ==
        attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor));
  HOLDS(properties.l2CacheSize == attribute(cudaDevAttrL2CacheSize));
  HOLDS(properties.regsPerBlock == attribute(cudaDevAttrMaxRegistersPerBlock));
  HOLDS(properties.unifiedAddressing == 1 && properties.concurrentKernels == 1);
  HOLDS(properties.totalConstMem == 65536 && attribute(cudaDevAttrTotalConstantMemory) == 65536);
  HOLDS(attribute(cudaDevAttrClockRate) > 0 && attribute(cudaDevAttrMemoryClockRate) > 0);
  HOLDS(attribute(cudaDevAttrMaxBlocksPerMultiprocessor) == properties.maxBlocksPerMultiProcessor);

  int runtime = 0, driver = 0;
  OK(cudaRuntimeGetVersion(&runtime));
  OK(cudaDriverGetVersion(&driver));
  HOLDS(runtime == CUDART_VERSION && driver >= runtime);

  size_t limit = 0;
  OK(cudaDeviceGetLimit(&limit, cudaLimitStackSize));
  HOLDS(limit == 1024);
  OK(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 4 << 20));
  OK(cudaDeviceGetLimit(&limit, cudaLimitPrintfFifoSize));
  HOLDS(limit >= 4 << 20);

  unsigned flags = 0;
  OK(cudaSetDeviceFlags(cudaDeviceScheduleSpin));
  OK(cudaGetDeviceFlags(&flags));
  HOLDS((flags & cudaDeviceScheduleMask) == cudaDeviceScheduleSpin);
  cudaFuncCache cache{};
  OK(cudaDeviceGetCacheConfig(&cache));
  HOLDS(cache == cudaFuncCachePreferNone);
  int least = -1, greatest = 1;
  OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  HOLDS(least == 0 && greatest < 0);
  int can = 1;
  OK(cudaDeviceCanAccessPeer(&can, 0, 0));
  HOLDS(can == 0);
  GIVES(cudaErrorInvalidDevice, cudaDeviceCanAccessPeer(&can, 0, 99));

  char *ours = nullptr, *pinned = nullptr, *managed = nullptr, local = 0;
  OK(cudaMalloc(&ours, 64));
  OK(cudaMallocHost(&pinned, 64));
  OK(cudaMallocManaged(&managed, 64));
  cudaPointerAttributes what{};
  OK(cudaPointerGetAttributes(&what, ours + 5));
  HOLDS(what.type == cudaMemoryTypeDevice && what.device == 0 && what.devicePointer == ours + 5 &&
        !what.hostPointer);
  OK(cudaPointerGetAttributes(&what, pinned));
  HOLDS(what.type == cudaMemoryTypeHost && what.hostPointer == pinned && what.devicePointer == pinned);
  OK(cudaPointerGetAttributes(&what, managed));
  HOLDS(what.type == cudaMemoryTypeManaged && what.hostPointer == managed && what.devicePointer == managed);
  OK(cudaPointerGetAttributes(&what, &local));
  HOLDS(what.type == cudaMemoryTypeUnregistered && what.hostPointer == &local);
  OK(cudaPointerGetAttributes(&what, nullptr));
  HOLDS(what.type == cudaMemoryTypeUnregistered);
  OK(cudaFree(ours));
  OK(cudaFreeHost(pinned));
  OK(cudaFree(managed));

  OK(cudaMalloc(&ours, 64));
  OK(cudaDeviceReset());
  OK(cudaDeviceSynchronize());
  return finish();
}
