// Pinned host memory that kernels read and write in place.
#include "../programs/check.cuh"

__global__ void halve(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * 0.5f;
}

int main() {
  Report report("mapped_memory");
  constexpr int kCount = 300;
  float *in = nullptr, *out = nullptr, *device_in = nullptr, *device_out = nullptr;
  CUDA_OK(cudaHostAlloc(&in, kCount * sizeof(float), cudaHostAllocMapped | cudaHostAllocWriteCombined));
  CUDA_OK(cudaHostAlloc(&out, kCount * sizeof(float), cudaHostAllocMapped));
  CUDA_OK(cudaHostGetDevicePointer(&device_in, in, 0));
  CUDA_OK(cudaHostGetDevicePointer(&device_out, out, 0));
  std::vector<float> want(kCount);
  for (int i = 0; i < kCount; ++i) want[i] = (in[i] = static_cast<float>(i)) * 0.5f;
  halve<<<blocks_for(kCount, 64), 64>>>(device_in, device_out, kCount);
  LAUNCHED_OK();
  report.equal("halved", std::vector<float>(out, out + kCount), want);
  unsigned flags = 0;
  CUDA_OK(cudaHostGetFlags(&flags, out));
  report.check((flags & cudaHostAllocMapped) != 0, "its flags");
  CUDA_OK(cudaFreeHost(in));
  CUDA_OK(cudaFreeHost(out));
  return report.finish();
}
