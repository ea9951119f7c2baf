// Pinned host memory, host memory mapped into the device's address space, and what pointers say of
// themselves.
#include "check.cuh"

constexpr int kCount = 512, kThreads = 128, kBlocks = kCount / kThreads;

__global__ void add_one(const int* in, int* out) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  out[i] = in[i] + 1;
}

int main() {
  Report report("host_memory");
  int *pinned = nullptr, *mapped = nullptr, *mapped_on_device = nullptr;
  CUDA_OK(cudaHostAlloc(&pinned, kCount * sizeof(int), cudaHostAllocDefault));
  CUDA_OK(cudaHostAlloc(&mapped, kCount * sizeof(int), cudaHostAllocMapped));
  CUDA_OK(cudaHostGetDevicePointer(&mapped_on_device, mapped, 0));
  {
    DeviceBuffer<int> device(kCount);
    std::vector<int> want(kCount);
    for (int i = 0; i < kCount; ++i) {
      pinned[i] = i * 5;
      want[i] = i * 5 + 1;
    }
    CUDA_OK(cudaMemcpy(device.get(), pinned, device.bytes(), cudaMemcpyHostToDevice));
    // The kernel writes straight into host memory; the host may look after the synchronisation.
    add_one<<<kBlocks, kThreads>>>(device.get(), mapped_on_device);
    LAUNCHED_OK();
    report.equal("device_writes_host", std::vector<int>(mapped, mapped + kCount), want);

    for (int i = 0; i < kCount; ++i) mapped[i] = -i;
    add_one<<<kBlocks, kThreads>>>(mapped_on_device, device.get());
    LAUNCHED_OK();
    for (int i = 0; i < kCount; ++i) want[i] = 1 - i;
    report.equal("device_reads_host", device.download(), want);

    cudaPointerAttributes attributes;
    CUDA_OK(cudaPointerGetAttributes(&attributes, device.get()));
    report.check(attributes.type == cudaMemoryTypeDevice, "cudaMalloc gives device memory");
    report.check(attributes.devicePointer == device.get(), "its device pointer is itself");
    CUDA_OK(cudaPointerGetAttributes(&attributes, pinned));
    report.check(attributes.type == cudaMemoryTypeHost, "cudaHostAlloc gives host memory");
    CUDA_OK(cudaPointerGetAttributes(&attributes, &report));
    report.check(attributes.type == cudaMemoryTypeUnregistered, "a local variable is not registered");

    // With unified addressing the runtime finds the direction by itself.
    std::vector<int> copied(kCount);
    CUDA_OK(cudaMemcpy(copied.data(), device.get(), device.bytes(), cudaMemcpyDefault));
    report.equal("default_direction", copied, want);
    CUDA_OK(cudaMemcpy(pinned, copied.data(), kCount * sizeof(int), cudaMemcpyHostToHost));
    report.equal("host_to_host", std::vector<int>(pinned, pinned + kCount), want);
  }
  CUDA_OK(cudaFreeHost(pinned));
  CUDA_OK(cudaFreeHost(mapped));
  return report.finish();
}
