// Memory of the program's own, registered, and used by a kernel through the device's address for it.
#include "../programs/check.cuh"

__global__ void triple(int* values, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] *= 3;
}

int main() {
  Report report("registered_memory");
  constexpr int kCount = 3000;
  std::vector<int> values(kCount), want(kCount);
  for (int i = 0; i < kCount; ++i) want[i] = 3 * (values[i] = i - 1500);
  int* device = nullptr;
  CUDA_OK(cudaHostRegister(values.data(), kCount * sizeof(int), cudaHostRegisterMapped));
  CUDA_OK(cudaHostGetDevicePointer(&device, values.data(), 0));
  triple<<<blocks_for(kCount, 128), 128>>>(device, kCount);
  LAUNCHED_OK();
  report.equal("in_place", values, want);
  CUDA_OK(cudaHostUnregister(values.data()));
  report.equal("afterwards", values, want);
  return report.finish();
}
