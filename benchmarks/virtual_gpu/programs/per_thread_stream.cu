// flags: --default-stream per-thread
// Launches and copies without a stream go to the thread's own default stream, here from two host threads.
#include <thread>

#include "check.cuh"

constexpr int kCount = 1024, kThreads = 128, kRounds = 5;

__global__ void step(int* data, int factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = data[i] * factor + i;
}

void work(int factor, std::vector<int>* result) {
  int* data = nullptr;
  CUDA_OK(cudaMalloc(&data, kCount * sizeof(int)));
  CUDA_OK(cudaMemsetAsync(data, 0, kCount * sizeof(int)));
  for (int round = 0; round < kRounds; ++round) {
    step<<<kCount / kThreads, kThreads>>>(data, factor);
    CUDA_OK(cudaGetLastError());
  }
  CUDA_OK(cudaMemcpyAsync(result->data(), data, kCount * sizeof(int), cudaMemcpyDeviceToHost));
  CUDA_OK(cudaStreamSynchronize(cudaStreamPerThread));
  CUDA_OK(cudaFree(data));
}

int main() {
  Report report("per_thread_stream");
  std::vector<int> first(kCount), second(kCount);
  std::thread other(work, 3, &second);
  work(2, &first);
  other.join();
  for (const int factor : {2, 3}) {
    std::vector<int> want(kCount, 0);
    for (int round = 0; round < kRounds; ++round) {
      for (int i = 0; i < kCount; ++i) want[i] = want[i] * factor + i;
    }
    report.equal(factor == 2 ? "first" : "second", factor == 2 ? first : second, want);
  }
  return report.finish();
}
