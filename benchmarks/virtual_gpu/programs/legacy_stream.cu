// The default stream orders itself with blocking streams on both sides, without any event.
#include "check.cuh"

constexpr int kCount = 2048, kThreads = 128;

__global__ void append(int* data, int digit) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = data[i] * 10 + digit;
}

int main() {
  Report report("legacy_stream");
  cudaStream_t a, b;
  CUDA_OK(cudaStreamCreate(&a));
  CUDA_OK(cudaStreamCreate(&b));
  DeviceBuffer<int> data(kCount);
  data.fill_bytes(0);
  const dim3 grid(kCount / kThreads);
  append<<<grid, kThreads, 0, a>>>(data.get(), 1);
  CUDA_OK(cudaGetLastError());
  append<<<grid, kThreads>>>(data.get(), 2);  // after everything on a
  CUDA_OK(cudaGetLastError());
  append<<<grid, kThreads, 0, b>>>(data.get(), 3);  // after the default stream
  CUDA_OK(cudaGetLastError());
  append<<<grid, kThreads, 0, cudaStreamLegacy>>>(data.get(), 4);
  CUDA_OK(cudaGetLastError());
  append<<<grid, kThreads, 0, a>>>(data.get(), 5);
  CUDA_OK(cudaGetLastError());
  CUDA_OK(cudaDeviceSynchronize());
  report.equal("ordered", data.download(), std::vector<int>(kCount, 12345));
  CUDA_OK(cudaStreamDestroy(a));
  CUDA_OK(cudaStreamDestroy(b));
  return report.finish();
}
