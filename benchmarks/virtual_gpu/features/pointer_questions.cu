// What the runtime knows of pointers of every kind.
#include "../programs/check.cuh"

__device__ int variable;

int main() {
  Report report("pointer_questions");
  int *device = nullptr, *pinned = nullptr, *managed = nullptr, local = 0;
  CUDA_OK(cudaMalloc(&device, 64 * sizeof(int)));
  CUDA_OK(cudaMallocHost(&pinned, 64 * sizeof(int)));
  CUDA_OK(cudaMallocManaged(&managed, 64 * sizeof(int)));
  void* symbol = nullptr;
  CUDA_OK(cudaGetSymbolAddress(&symbol, variable));
  const auto kind = [](const void* pointer) {
    cudaPointerAttributes known{};
    CUDA_OK(cudaPointerGetAttributes(&known, pointer));
    return known.type;
  };
  report.check(kind(device + 5) == cudaMemoryTypeDevice, "device memory");
  report.check(kind(pinned + 5) == cudaMemoryTypeHost, "pinned memory");
  report.check(kind(managed) == cudaMemoryTypeManaged, "managed memory");
  report.check(kind(&local) == cudaMemoryTypeUnregistered, "the program's own");
  report.check(kind(symbol) == cudaMemoryTypeDevice, "a variable of device code");
  managed[3] = 9;
  CUDA_OK(cudaMemcpy(device, managed, 64 * sizeof(int), cudaMemcpyDefault));
  CUDA_OK(cudaMemcpy(&local, device + 3, sizeof local, cudaMemcpyDefault));
  report.check(local == 9, "copies that find out by themselves");
  CUDA_OK(cudaFree(device));
  CUDA_OK(cudaFreeHost(pinned));
  CUDA_OK(cudaFree(managed));
  return report.finish();
}
