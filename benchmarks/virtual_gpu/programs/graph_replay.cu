// A captured stream becomes a graph, instantiated once and replayed with changed inputs: kernels, copies,
// memset.
#include "check.cuh"

constexpr int kCount = 2048, kThreads = 128, kBlocks = kCount / kThreads;

__global__ void square(const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] * in[i];
}
__global__ void accumulate(const int* in, int* total, int* launches) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  total[i] += in[i];
  if (i == 0) ++*launches;
}

int main() {
  Report report("graph_replay");
  cudaStream_t stream;
  CUDA_OK(cudaStreamCreate(&stream));
  int* pinned = nullptr;
  CUDA_OK(cudaMallocHost(&pinned, kCount * sizeof(int)));
  {
    DeviceBuffer<int> input(kCount), squared(kCount), total(kCount), launches(1), cleared(kCount);
    total.fill_bytes(0);
    launches.fill_bytes(0);
    cleared.fill_bytes(0x11);

    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    cudaStreamCaptureStatus status;
    CUDA_OK(cudaStreamIsCapturing(stream, &status));
    report.check(status == cudaStreamCaptureStatusActive, "the stream says that it captures");
    CUDA_OK(cudaMemcpyAsync(input.get(), pinned, input.bytes(), cudaMemcpyHostToDevice, stream));
    square<<<kBlocks, kThreads, 0, stream>>>(input.get(), squared.get());
    CUDA_OK(cudaGetLastError());
    accumulate<<<kBlocks, kThreads, 0, stream>>>(squared.get(), total.get(), launches.get());
    CUDA_OK(cudaGetLastError());
    CUDA_OK(cudaMemsetAsync(cleared.get(), 0, cleared.bytes(), stream));
    cudaGraph_t graph;
    CUDA_OK(cudaStreamEndCapture(stream, &graph));
    CUDA_OK(cudaStreamIsCapturing(stream, &status));
    report.check(status == cudaStreamCaptureStatusNone, "the stream says that it captures no longer");
    size_t nodes = 0;
    CUDA_OK(cudaGraphGetNodes(graph, nullptr, &nodes));
    report.check(nodes == 4, "two kernels, a copy and a memset make four nodes");

    // Capturing ran nothing.
    CUDA_OK(cudaStreamSynchronize(stream));
    report.equal("not_run", launches.download(), {0});

    cudaGraphExec_t executable;
    CUDA_OK(cudaGraphInstantiate(&executable, graph, 0));
    CUDA_OK(cudaGraphDestroy(graph));  // the executable stands on its own
    std::vector<int> want(kCount, 0);
    for (int round = 0; round < 4; ++round) {
      for (int i = 0; i < kCount; ++i) {
        pinned[i] = i % 100 + round * 10;
        want[i] += pinned[i] * pinned[i];
      }
      CUDA_OK(cudaGraphLaunch(executable, stream));
      CUDA_OK(cudaStreamSynchronize(stream));
    }
    report.equal("total", total.download(), want);
    report.equal("launches", launches.download(), {4});
    report.equal("cleared", cleared.download(), std::vector<int>(kCount, 0));
    CUDA_OK(cudaGraphExecDestroy(executable));
  }
  CUDA_OK(cudaFreeHost(pinned));
  CUDA_OK(cudaStreamDestroy(stream));
  return report.finish();
}
