// Work on two streams ordered by events and waits (a diamond of dependencies), asynchronous copies and
// memsets in stream order, queries, priorities and elapsed times.
#include "check.cuh"

constexpr int kCount = 4096, kThreads = 128, kBlocks = kCount / kThreads;

__global__ void fill(int* out, int start) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = start + i;
}
__global__ void scale(const int* in, int* out, int factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] * factor;
}
__global__ void add(const int* a, const int* b, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = a[i] + b[kCount - 1 - i];
}

int main() {
  Report report("streams_events");
  cudaStream_t left, right;
  CUDA_OK(cudaStreamCreateWithFlags(&left, cudaStreamNonBlocking));
  int least = 0, greatest = 0;
  CUDA_OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  CUDA_OK(cudaStreamCreateWithPriority(&right, cudaStreamNonBlocking, greatest));
  cudaEvent_t start, filled, scaled, end;
  CUDA_OK(cudaEventCreate(&start));
  CUDA_OK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
  CUDA_OK(cudaEventCreateWithFlags(&scaled, cudaEventDisableTiming));
  CUDA_OK(cudaEventCreate(&end));
  {
    DeviceBuffer<int> base(kCount), doubled(kCount), tripled(kCount), sum(kCount);
    int* pinned = nullptr;
    CUDA_OK(cudaMallocHost(&pinned, kCount * sizeof(int)));

    // left: fill -> double ---------> add -> copy back
    // right:     \-> triple --------/
    CUDA_OK(cudaEventRecord(start, left));
    fill<<<kBlocks, kThreads, 0, left>>>(base.get(), 100);
    CUDA_OK(cudaGetLastError());
    CUDA_OK(cudaEventRecord(filled, left));
    CUDA_OK(cudaStreamWaitEvent(right, filled, 0));
    scale<<<kBlocks, kThreads, 0, left>>>(base.get(), doubled.get(), 2);
    CUDA_OK(cudaGetLastError());
    scale<<<kBlocks, kThreads, 0, right>>>(base.get(), tripled.get(), 3);
    CUDA_OK(cudaGetLastError());
    CUDA_OK(cudaEventRecord(scaled, right));
    CUDA_OK(cudaStreamWaitEvent(left, scaled, 0));
    add<<<kBlocks, kThreads, 0, left>>>(doubled.get(), tripled.get(), sum.get());
    CUDA_OK(cudaGetLastError());
    CUDA_OK(cudaMemcpyAsync(pinned, sum.get(), sum.bytes(), cudaMemcpyDeviceToHost, left));
    CUDA_OK(cudaEventRecord(end, left));
    CUDA_OK(cudaEventSynchronize(end));

    std::vector<int> want(kCount);
    for (int i = 0; i < kCount; ++i) want[i] = 2 * (100 + i) + 3 * (100 + kCount - 1 - i);
    report.equal("diamond", std::vector<int>(pinned, pinned + kCount), want);
    CUDA_OK(cudaStreamSynchronize(left));
    CUDA_OK(cudaStreamSynchronize(right));
    report.check(cudaEventQuery(end) == cudaSuccess, "an event waited for has happened");
    report.check(cudaStreamQuery(left) == cudaSuccess, "a stream waited for is idle");
    float milliseconds = -1;
    CUDA_OK(cudaEventElapsedTime(&milliseconds, start, end));
    report.check(milliseconds > 0 && milliseconds < 60000, "elapsed time is positive and sane");

    // Copies from the host on one stream, then a kernel on the same: stream order is enough.
    for (int i = 0; i < kCount; ++i) pinned[i] = i * 7;
    CUDA_OK(cudaMemcpyAsync(base.get(), pinned, base.bytes(), cudaMemcpyHostToDevice, right));
    CUDA_OK(cudaMemcpyAsync(doubled.get(), base.get(), base.bytes(), cudaMemcpyDeviceToDevice, right));
    CUDA_OK(cudaMemsetAsync(tripled.get(), 0xff, tripled.bytes() / 2, right));
    scale<<<kBlocks, kThreads, 0, right>>>(doubled.get(), sum.get(), -1);
    CUDA_OK(cudaGetLastError());
    CUDA_OK(cudaStreamSynchronize(right));
    for (int i = 0; i < kCount; ++i) want[i] = -7 * i;
    report.equal("in_order", sum.download(), want);
    for (int i = 0; i < kCount; ++i) want[i] = i < kCount / 2 ? -1 : 3 * (100 + i);
    report.equal("memset", tripled.download(), want);
    CUDA_OK(cudaFreeHost(pinned));
  }
  for (cudaEvent_t event : {start, filled, scaled, end}) CUDA_OK(cudaEventDestroy(event));
  CUDA_OK(cudaStreamDestroy(left));
  CUDA_OK(cudaStreamDestroy(right));
  return report.finish();
}
