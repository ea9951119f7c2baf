// Events: times between them are not negative and add up; what is not recorded has no time.
#include "../programs/check.cuh"

__global__ void work(int* out) {
  int sum = 0;
  for (int i = 0; i < 500; ++i) sum = sum * 3 + i;
  out[threadIdx.x] = sum;
}

int main() {
  Report report("event_times");
  DeviceBuffer<int> output(64);
  cudaEvent_t events[3], silent;
  for (cudaEvent_t& event : events) CUDA_OK(cudaEventCreate(&event));
  CUDA_OK(cudaEventCreateWithFlags(&silent, cudaEventDisableTiming));
  for (int i = 0; i < 3; ++i) {
    CUDA_OK(cudaEventRecord(events[i]));
    work<<<1, 64>>>(output.get());
  }
  CUDA_OK(cudaEventRecord(silent));
  CUDA_OK(cudaEventSynchronize(silent));
  float first = -1, second = -1, both = -1;
  CUDA_OK(cudaEventElapsedTime(&first, events[0], events[1]));
  CUDA_OK(cudaEventElapsedTime(&second, events[1], events[2]));
  CUDA_OK(cudaEventElapsedTime(&both, events[0], events[2]));
  report.check(first > 0 && second > 0, "time passes");
  report.check(std::fabs(first + second - both) < 0.01f, "times add up");
  report.check(cudaEventElapsedTime(&first, events[0], silent) == cudaErrorInvalidResourceHandle,
               "an event without time");
  cudaGetLastError();
  for (cudaEvent_t event : events) CUDA_OK(cudaEventDestroy(event));
  CUDA_OK(cudaEventDestroy(silent));
  return report.finish();
}
