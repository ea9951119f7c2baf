// Allocation and freeing: what is given back for no bytes, no pointer and too much, and who frees what.
#include "expect.cuh"

int main() {
  char* device = nullptr;
  OK(cudaMalloc(&device, 0));
  HOLDS(device == nullptr);
  GIVES(cudaErrorInvalidValue, cudaMalloc(static_cast<void**>(nullptr), 4));
  GIVES(cudaErrorMemoryAllocation, cudaMalloc(&device, size_t{1} << 50));
  OK(cudaMalloc(&device, 256));
  OK(cudaFree(device));
  OK(cudaFree(nullptr));
  OK(cudaFreeHost(nullptr));

  void* host = reinterpret_cast<void*>(1);
  OK(cudaMallocHost(&host, 0));
  HOLDS(host == nullptr);
  GIVES(cudaErrorInvalidValue, cudaHostAlloc(&host, 64, 0x80));
  OK(cudaHostAlloc(&host, 64, cudaHostAllocMapped));
  std::memset(host, 7, 64);
  unsigned flags = 0;
  OK(cudaHostGetFlags(&flags, host));
  HOLDS((flags & cudaHostAllocMapped) != 0);
  void* seen_by_device = nullptr;
  OK(cudaHostGetDevicePointer(&seen_by_device, host, 0));
  HOLDS(seen_by_device == host);
  int on_stack = 0;
  GIVES(cudaErrorInvalidValue, cudaHostGetDevicePointer(&seen_by_device, &on_stack, 0));
  OK(cudaFreeHost(host));

  char* managed = nullptr;
  OK(cudaMallocManaged(&managed, 64));
  managed[63] = 1;
  char* refused = managed;
  GIVES(cudaErrorInvalidValue, cudaMallocManaged(&refused, 64, 0));
  HOLDS(refused == nullptr);
  const cudaMemLocation here{cudaMemLocationTypeDevice, 0};
  OK(cudaMemAdvise(managed, 64, cudaMemAdviseSetReadMostly, here));
  OK(cudaMemPrefetchAsync(managed, 64, here, 0, nullptr));
  OK(cudaFree(managed));

  size_t pitch = 1;
  OK(cudaMallocPitch(&device, &pitch, 100, 3));
  HOLDS(pitch == 512);
  OK(cudaFree(device));
  OK(cudaMallocPitch(&device, &pitch, 0, 3));
  HOLDS(pitch == 0 && device == nullptr);
  cudaPitchedPtr block{};
  OK(cudaMalloc3D(&block, make_cudaExtent(513, 3, 2)));
  HOLDS(block.pitch == 1024 && block.xsize == 513 && block.ysize == 3);
  OK(cudaFree(block.ptr));

  size_t free_bytes = 0, total_bytes = 0;
  OK(cudaMemGetInfo(&free_bytes, &total_bytes));
  HOLDS(free_bytes > 0 && free_bytes <= total_bytes);
  OK(cudaMemGetInfo(nullptr, nullptr));

  cudaMemPool_t pool = nullptr;
  OK(cudaDeviceGetDefaultMemPool(&pool, 0));
  unsigned long long threshold = ~0ull;
  OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  threshold = 0;
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  HOLDS(threshold == ~0ull);
  OK(cudaMallocFromPoolAsync(&device, 64, pool, nullptr));
  OK(cudaFreeAsync(device, nullptr));
  OK(cudaMallocAsync(&device, 64, nullptr));
  OK(cudaFree(device));
  OK(cudaMallocAsync(&device, 0, nullptr));
  HOLDS(device == nullptr);
  OK(cudaFreeAsync(nullptr, nullptr));
  OK(cudaMemPoolTrimTo(pool, 0));
  return finish();
}
