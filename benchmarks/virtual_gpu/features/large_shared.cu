// More shared memory than 48 KiB, which a kernel must be allowed to have first.
#include "../programs/check.cuh"

constexpr int kWords = 40 * 1024;

__global__ void reverse(const int* in, int* out) {
  extern __shared__ int tile[];
  for (int i = threadIdx.x; i < kWords; i += blockDim.x) tile[i] = in[i];
  __syncthreads();
  for (int i = threadIdx.x; i < kWords; i += blockDim.x) out[i] = tile[kWords - 1 - i];
}

int main() {
  Report report("large_shared");
  constexpr int kBytes = kWords * sizeof(int);
  std::vector<int> values(kWords), want(kWords);
  for (int i = 0; i < kWords; ++i) want[kWords - 1 - i] = values[i] = i * 7;
  DeviceBuffer<int> input(values), output(kWords);
  reverse<<<1, 256, kBytes>>>(input.get(), output.get());
  report.check(cudaGetLastError() == cudaErrorInvalidValue, "refused without the attribute");
  CUDA_OK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  reverse<<<1, 256, kBytes>>>(input.get(), output.get());
  LAUNCHED_OK();
  report.equal("reversed", output.download(), want);
  return report.finish();
}
