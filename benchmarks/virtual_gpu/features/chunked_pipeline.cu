// Copies in, kernels and copies out of chunks on three streams, with pinned memory.
#include "../programs/check.cuh"

constexpr int kChunk = 256, kChunks = 9, kStreams = 3;

__global__ void work(const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] * in[i] - 3;
}

int main() {
  Report report("chunked_pipeline");
  int *in = nullptr, *out = nullptr;
  CUDA_OK(cudaMallocHost(&in, kChunk * kChunks * sizeof(int)));
  CUDA_OK(cudaMallocHost(&out, kChunk * kChunks * sizeof(int)));
  std::vector<int> want;
  for (int i = 0; i < kChunk * kChunks; ++i) {
    in[i] = i - 1000;
    want.push_back(in[i] * in[i] - 3);
  }
  DeviceBuffer<int> d_in(kChunk * kStreams), d_out(kChunk * kStreams);
  cudaStream_t streams[kStreams];
  for (cudaStream_t& stream : streams) CUDA_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    const int s = chunk % kStreams;
    int *from = d_in.get() + s * kChunk, *to = d_out.get() + s * kChunk;
    CUDA_OK(
        cudaMemcpyAsync(from, in + chunk * kChunk, kChunk * sizeof(int), cudaMemcpyHostToDevice, streams[s]));
    work<<<kChunk / 64, 64, 0, streams[s]>>>(from, to);
    CUDA_OK(
        cudaMemcpyAsync(out + chunk * kChunk, to, kChunk * sizeof(int), cudaMemcpyDeviceToHost, streams[s]));
  }
  for (cudaStream_t stream : streams) {
    CUDA_OK(cudaStreamSynchronize(stream));
    CUDA_OK(cudaStreamDestroy(stream));
  }
  report.equal("chunks", std::vector<int>(out, out + kChunk * kChunks), want);
  CUDA_OK(cudaFreeHost(in));
  CUDA_OK(cudaFreeHost(out));
  return report.finish();
}
