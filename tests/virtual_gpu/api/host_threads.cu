// Several host threads at once: copies, launches and callbacks do not get mixed up, and each thread's own
// default stream is its own.
#include <atomic>
#include <thread>

#include "expect.cuh"

__global__ void fill(int* out, int value) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

namespace {

constexpr int kThreads = 4, kCount = 4096, kRounds = 10;
std::atomic<int> callbacks{0};

void CUDART_CB count(void*) {
  ++callbacks;
}

void work(int mine) {
  int* device = nullptr;
  std::vector<int> host(kCount);
  OK(cudaMalloc(&device, kCount * sizeof(int)));
  for (int round = 0; round < kRounds; ++round) {
    const int value = mine * 1000 + round;
    fill<<<kCount / 256, 256, 0, cudaStreamPerThread>>>(device, value);
    OK(cudaLaunchHostFunc(cudaStreamPerThread, count, nullptr));
    OK(cudaMemcpyAsync(host.data(), device, kCount * sizeof(int), cudaMemcpyDeviceToHost,
                       cudaStreamPerThread));
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    bool right = true;
    for (const int element : host) right = right && element == value;
    HOLDS(right);
    for (int& element : host) element = -value;
    OK(cudaMemcpyAsync(device, host.data(), kCount * sizeof(int), cudaMemcpyHostToDevice,
                       cudaStreamPerThread));
    OK(cudaStreamSynchronize(cudaStreamPerThread));
  }
  OK(cudaFree(device));
}

}  // namespace

int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  HOLDS(callbacks == kThreads * kRounds);
  return finish();
}
