// Capture across two streams: events fork the second stream into the capture and join it again.
#include "check.cuh"

constexpr int kCount = 1536, kThreads = 128, kBlocks = kCount / kThreads;

__global__ void scale(const int* in, int* out, int factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] * factor;
}
__global__ void subtract(const int* a, const int* b, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = a[i] - b[i ^ 1];
}

int main() {
  Report report("graph_streams");
  cudaStream_t main_stream, side;
  CUDA_OK(cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking));
  CUDA_OK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  cudaEvent_t fork, join;
  CUDA_OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CUDA_OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  {
    std::vector<int> in(kCount), want(kCount);
    DeviceBuffer<int> input(kCount), fives(kCount), sevens(kCount), output(kCount);

    CUDA_OK(cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeThreadLocal));
    CUDA_OK(cudaEventRecord(fork, main_stream));
    CUDA_OK(cudaStreamWaitEvent(side, fork, 0));
    scale<<<kBlocks, kThreads, 0, main_stream>>>(input.get(), fives.get(), 5);
    CUDA_OK(cudaGetLastError());
    scale<<<kBlocks, kThreads, 0, side>>>(input.get(), sevens.get(), 7);
    CUDA_OK(cudaGetLastError());
    CUDA_OK(cudaEventRecord(join, side));
    CUDA_OK(cudaStreamWaitEvent(main_stream, join, 0));
    subtract<<<kBlocks, kThreads, 0, main_stream>>>(fives.get(), sevens.get(), output.get());
    CUDA_OK(cudaGetLastError());
    cudaGraph_t graph;
    CUDA_OK(cudaStreamEndCapture(main_stream, &graph));
    cudaGraphExec_t executable;
    CUDA_OK(cudaGraphInstantiate(&executable, graph, 0));

    const char* names[] = {"first", "second", "third"};
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < kCount; ++i) in[i] = (i * 31 + round * 1009) % 5003;
      for (int i = 0; i < kCount; ++i) want[i] = in[i] * 5 - in[i ^ 1] * 7;
      CUDA_OK(cudaMemcpy(input.get(), in.data(), input.bytes(), cudaMemcpyHostToDevice));
      CUDA_OK(cudaDeviceSynchronize());
      // A graph may be launched into any stream, not only the one it was captured from.
      CUDA_OK(cudaGraphLaunch(executable, round == 1 ? side : main_stream));
      CUDA_OK(cudaStreamSynchronize(round == 1 ? side : main_stream));
      report.equal(names[round], output.download(), want);
    }
    CUDA_OK(cudaGraphExecDestroy(executable));
    CUDA_OK(cudaGraphDestroy(graph));
  }
  CUDA_OK(cudaEventDestroy(fork));
  CUDA_OK(cudaEventDestroy(join));
  CUDA_OK(cudaStreamDestroy(main_stream));
  CUDA_OK(cudaStreamDestroy(side));
  return report.finish();
}
