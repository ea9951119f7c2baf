// A capture that forks to a second stream, joins it again and destroys it before the capture ends, launched
// several times.
#include "../programs/check.cuh"

__global__ void twice(const int* in, int* out) {
  out[threadIdx.x] = 2 * in[threadIdx.x];
}
__global__ void square(const int* in, int* out) {
  out[threadIdx.x] = in[threadIdx.x] * in[threadIdx.x];
}
__global__ void join(int* in, const int* a, const int* b) {
  in[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x] - 40;
}

int main() {
  Report report("graph_fork");
  std::vector<int> values(32);
  for (int i = 0; i < 32; ++i) values[i] = i % 5;
  DeviceBuffer<int> in(values), a(32), b(32);
  cudaStream_t main_stream, side;
  cudaEvent_t fork, joined;
  CUDA_OK(cudaStreamCreate(&main_stream));
  CUDA_OK(cudaStreamCreate(&side));
  CUDA_OK(cudaEventCreate(&fork));
  CUDA_OK(cudaEventCreate(&joined));
  CUDA_OK(cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeGlobal));
  CUDA_OK(cudaEventRecord(fork, main_stream));
  CUDA_OK(cudaStreamWaitEvent(side, fork, 0));
  twice<<<1, 32, 0, main_stream>>>(in.get(), a.get());
  square<<<1, 32, 0, side>>>(in.get(), b.get());
  CUDA_OK(cudaEventRecord(joined, side));
  CUDA_OK(cudaStreamWaitEvent(main_stream, joined, 0));
  CUDA_OK(cudaStreamDestroy(side));
  CUDA_OK(cudaEventDestroy(fork));
  CUDA_OK(cudaEventDestroy(joined));
  join<<<1, 32, 0, main_stream>>>(in.get(), a.get(), b.get());
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CUDA_OK(cudaStreamEndCapture(main_stream, &graph));
  CUDA_OK(cudaGraphInstantiate(&executable, graph, 0));
  for (int round = 0; round < 2; ++round) CUDA_OK(cudaGraphLaunch(executable, main_stream));
  CUDA_OK(cudaStreamSynchronize(main_stream));
  for (int round = 0; round < 2; ++round)
    for (int& value : values) value = 2 * value + value * value - 40;
  report.equal("after_two", in.download(), values);
  CUDA_OK(cudaGraphExecDestroy(executable));
  CUDA_OK(cudaGraphDestroy(graph));
  CUDA_OK(cudaStreamDestroy(main_stream));
  return report.finish();
}
