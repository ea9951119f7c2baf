// Streams, events and host functions: work waits for what its stream and events name, and for nothing else.
#include "../programs/check.cuh"

__global__ void fill(int* out, int value) {
  out[threadIdx.x] = value;
}
__global__ void add(int* out, const int* in) {
  out[threadIdx.x] += in[threadIdx.x];
}

int main() {
  Report report("stream_order");
  DeviceBuffer<int> a(32), b(32);
  a.fill_bytes(0);
  cudaStream_t first, second;
  cudaEvent_t filled;
  int low = 0, high = 0;
  CUDA_OK(cudaDeviceGetStreamPriorityRange(&low, &high));
  CUDA_OK(cudaStreamCreateWithPriority(&first, cudaStreamNonBlocking, high));
  CUDA_OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  CUDA_OK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
  CUDA_OK(cudaDeviceSynchronize());
  std::vector<int> calls;
  fill<<<1, 32, 0, first>>>(b.get(), 5);
  CUDA_OK(cudaEventRecord(filled, first));
  CUDA_OK(cudaStreamWaitEvent(second, filled, 0));
  add<<<1, 32, 0, second>>>(a.get(), b.get());
  CUDA_OK(cudaLaunchHostFunc(
      second, [](void* list) { static_cast<std::vector<int>*>(list)->push_back(1); }, &calls));
  CUDA_OK(cudaLaunchHostFunc(
      second, [](void* list) { static_cast<std::vector<int>*>(list)->push_back(2); }, &calls));
  CUDA_OK(cudaStreamSynchronize(second));
  report.equal("sum", a.download(), std::vector<int>(32, 5));
  report.equal("calls", calls, {1, 2});
  report.check(cudaEventQuery(filled) == cudaSuccess, "the event is over");
  int priority = 1;
  CUDA_OK(cudaStreamGetPriority(first, &priority));
  report.check(priority == high, "its priority");
  CUDA_OK(cudaEventDestroy(filled));
  CUDA_OK(cudaStreamDestroy(first));
  CUDA_OK(cudaStreamDestroy(second));
  return report.finish();
}
