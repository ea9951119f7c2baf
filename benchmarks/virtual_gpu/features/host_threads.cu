// Four threads of the host, each with its own stream and memory, at the same time.
#include <thread>

#include "../programs/check.cuh"

__global__ void step(int* values, int by) {
  values[threadIdx.x] = values[threadIdx.x] * 2 + by;
}

void run_one(int number, std::vector<int>* out) {
  cudaStream_t stream;
  CUDA_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  int* memory = nullptr;
  CUDA_OK(cudaMalloc(&memory, 32 * sizeof(int)));
  CUDA_OK(cudaMemsetAsync(memory, 0, 32 * sizeof(int), stream));
  for (int i = 0; i < 10; ++i) step<<<1, 32, 0, stream>>>(memory, number);
  out->resize(32);
  CUDA_OK(cudaMemcpyAsync(out->data(), memory, 32 * sizeof(int), cudaMemcpyDeviceToHost, stream));
  CUDA_OK(cudaStreamSynchronize(stream));
  CUDA_OK(cudaFree(memory));
  CUDA_OK(cudaStreamDestroy(stream));
}

int main() {
  Report report("host_threads");
  std::vector<int> results[4];
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(run_one, i, &results[i]);
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 4; ++i) report.equal("values", results[i], std::vector<int>(32, i * 1023));
  return report.finish();
}
