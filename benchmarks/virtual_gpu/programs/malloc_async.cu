// Stream-ordered allocation: memory allocated, used and freed on a stream, and handed to another by an event.
#include "check.cuh"

constexpr int kCount = 1024, kThreads = 128, kBlocks = kCount / kThreads;

__global__ void fill(int* out, int start) {
  out[blockIdx.x * kThreads + threadIdx.x] = start + blockIdx.x * kThreads + threadIdx.x;
}
__global__ void negate(const int* in, int* out) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  out[i] = -in[i];
}

int main() {
  Report report("malloc_async");
  cudaStream_t producer, consumer;
  CUDA_OK(cudaStreamCreate(&producer));
  CUDA_OK(cudaStreamCreate(&consumer));
  cudaEvent_t ready, used;
  CUDA_OK(cudaEventCreate(&ready));
  CUDA_OK(cudaEventCreate(&used));
  std::vector<int> results;
  for (int round = 0; round < 3; ++round) {
    int *data = nullptr, *negated = nullptr;
    CUDA_OK(cudaMallocAsync(&data, kCount * sizeof(int), producer));
    fill<<<kBlocks, kThreads, 0, producer>>>(data, round * 10000);
    CUDA_OK(cudaGetLastError());
    CUDA_OK(cudaEventRecord(ready, producer));

    CUDA_OK(cudaStreamWaitEvent(consumer, ready, 0));
    CUDA_OK(cudaMallocAsync(&negated, kCount * sizeof(int), consumer));
    negate<<<kBlocks, kThreads, 0, consumer>>>(data, negated);
    CUDA_OK(cudaGetLastError());
    CUDA_OK(cudaEventRecord(used, consumer));

    // The producer may free its memory only after the consumer has read it.
    CUDA_OK(cudaStreamWaitEvent(producer, used, 0));
    CUDA_OK(cudaFreeAsync(data, producer));
    std::vector<int> host(kCount);
    CUDA_OK(cudaMemcpyAsync(host.data(), negated, kCount * sizeof(int), cudaMemcpyDeviceToHost, consumer));
    CUDA_OK(cudaFreeAsync(negated, consumer));
    CUDA_OK(cudaStreamSynchronize(consumer));
    results.insert(results.end(), host.begin(), host.end());
  }
  CUDA_OK(cudaStreamSynchronize(producer));
  std::vector<int> want;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kCount; ++i) want.push_back(-(round * 10000 + i));
  }
  report.equal("negated", results, want);
  CUDA_OK(cudaEventDestroy(ready));
  CUDA_OK(cudaEventDestroy(used));
  CUDA_OK(cudaStreamDestroy(producer));
  CUDA_OK(cudaStreamDestroy(consumer));
  return report.finish();
}
