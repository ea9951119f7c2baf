// Properties, attributes and limits of the device agree with each other.
#include "../programs/check.cuh"

int main() {
  Report report("device_questions");
  int count = 0, device = -1, version = 0, runtime = 0, value = 0;
  CUDA_OK(cudaGetDeviceCount(&count));
  CUDA_OK(cudaGetDevice(&device));
  report.check(count >= 1 && device == 0, "the first device is current");
  cudaDeviceProp known{};
  CUDA_OK(cudaGetDeviceProperties(&known, device));
  const auto same = [&](cudaDeviceAttr attribute, long long property, const char* what) {
    CUDA_OK(cudaDeviceGetAttribute(&value, attribute, device));
    report.check(value == property, what);
  };
  same(cudaDevAttrMaxThreadsPerBlock, known.maxThreadsPerBlock, "threads per block");
  same(cudaDevAttrMultiProcessorCount, known.multiProcessorCount, "multiprocessors");
  same(cudaDevAttrMaxSharedMemoryPerBlock, static_cast<long long>(known.sharedMemPerBlock), "shared memory");
  same(cudaDevAttrWarpSize, known.warpSize, "lanes of a warp");
  same(cudaDevAttrComputeCapabilityMajor, known.major, "compute capability");
  same(cudaDevAttrTotalConstantMemory, static_cast<long long>(known.totalConstMem), "constant memory");
  report.check(known.warpSize == 32 && known.maxThreadsPerBlock == 1024 && known.name[0] != 0,
               "what all devices have");
  CUDA_OK(cudaDriverGetVersion(&version));
  CUDA_OK(cudaRuntimeGetVersion(&runtime));
  report.check(version >= runtime && runtime >= 12000, "versions");
  size_t heap = 0, free_bytes = 0, all = 0;
  CUDA_OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));
  CUDA_OK(cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize));
  report.check(heap >= 16 << 20, "a limit that was set");
  CUDA_OK(cudaMemGetInfo(&free_bytes, &all));
  report.check(free_bytes <= all && all == known.totalGlobalMem, "memory");
  return report.finish();
}
