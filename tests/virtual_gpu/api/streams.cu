// Streams and events: settings, order, callbacks in their place, waits between streams, modelled times.
#include "expect.cuh"

__global__ void add(int* value, int amount) {
  *value += amount;
}
__global__ void multiply(int* value, int factor) {
  *value *= factor;
}

namespace {

std::vector<int> order;

void CUDART_CB note(void* data) {
  order.push_back(static_cast<int>(reinterpret_cast<size_t>(data)));
  void* memory = nullptr;
  HOLDS(cudaMalloc(&memory, 4) == cudaErrorNotPermitted);  // no CUDA inside a callback
  cudaGetLastError();
}

void CUDART_CB note_with_stream(cudaStream_t, cudaError_t status, void* data) {
  HOLDS(status == cudaSuccess);
  order.push_back(static_cast<int>(reinterpret_cast<size_t>(data)));
}

}  // namespace

int main() {
  cudaStream_t first = nullptr, second = nullptr;
  OK(cudaStreamCreate(&first));
  OK(cudaStreamCreateWithPriority(&second, cudaStreamNonBlocking, -100));
  unsigned flags = 9;
  int priority = 9;
  OK(cudaStreamGetFlags(second, &flags));
  OK(cudaStreamGetPriority(second, &priority));
  HOLDS(flags == cudaStreamNonBlocking && priority < 0);
  OK(cudaStreamGetFlags(nullptr, &flags));
  HOLDS(flags == cudaStreamDefault);
  unsigned long long one = 0, two = 0;
  OK(cudaStreamGetId(first, &one));
  OK(cudaStreamGetId(second, &two));
  HOLDS(one != two);

  int* value = nullptr;
  int result = 0;
  OK(cudaMalloc(&value, sizeof *value));
  OK(cudaMemset(value, 0, sizeof *value));
  OK(cudaDeviceSynchronize());
  cudaEvent_t ready = nullptr, begin = nullptr, end = nullptr;
  OK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
  OK(cudaEventCreate(&begin));
  OK(cudaEventCreate(&end));
  float milliseconds = -1.0f;
  GIVES(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&milliseconds, begin, end));
  OK(cudaEventQuery(begin));  // never recorded: nothing to wait for

  OK(cudaEventRecord(begin, first));
  add<<<1, 1, 0, first>>>(value, 5);
  OK(cudaLaunchHostFunc(first, note, reinterpret_cast<void*>(1)));
  OK(cudaEventRecord(ready, first));
  OK(cudaStreamWaitEvent(second, ready, 0));
  multiply<<<1, 1, 0, second>>>(value, 3);
  OK(cudaStreamAddCallback(second, note_with_stream, reinterpret_cast<void*>(2), 0));
  OK(cudaEventRecord(end, second));
  OK(cudaEventSynchronize(end));
  HOLDS(order == std::vector<int>({1, 2}));
  OK(cudaMemcpy(&result, value, sizeof result, cudaMemcpyDeviceToHost));
  HOLDS(result == 15);
  OK(cudaEventElapsedTime(&milliseconds, begin, end));
  HOLDS(milliseconds > 0.0f);
  OK(cudaEventElapsedTime(&milliseconds, end, begin));
  HOLDS(milliseconds < 0.0f);
  GIVES(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&milliseconds, begin, ready));
  OK(cudaEventQuery(end));
  OK(cudaStreamQuery(first));
  GIVES(cudaErrorInvalidValue, cudaStreamWaitEvent(first, end, 7));
  GIVES(cudaErrorInvalidValue, cudaEventRecordWithFlags(end, first, 7));

  OK(cudaEventDestroy(ready));
  OK(cudaEventDestroy(begin));
  OK(cudaEventDestroy(end));
  OK(cudaStreamDestroy(first));
  OK(cudaStreamDestroy(second));
  OK(cudaFree(value));
  return finish();
}
