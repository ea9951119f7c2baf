// Stream-ordered allocation: memory exists between its two calls on a stream, and pools keep their settings.
#include "../programs/check.cuh"

__global__ void fill(int* out, int value) {
  out[threadIdx.x] = value + static_cast<int>(threadIdx.x);
}

int main() {
  Report report("pool_order");
  cudaStream_t stream;
  cudaMemPool_t pool;
  CUDA_OK(cudaStreamCreate(&stream));
  CUDA_OK(cudaDeviceGetDefaultMemPool(&pool, 0));
  uint64_t threshold = 1 << 20, back = 0;
  CUDA_OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  CUDA_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &back));
  report.check(back == threshold, "the threshold");
  cudaMemAccessFlags access{};
  cudaMemLocation here{};
  here.type = cudaMemLocationTypeDevice;
  here.id = 0;
  CUDA_OK(cudaMemPoolGetAccess(&access, pool, &here));
  report.check(access == cudaMemAccessFlagsProtReadWrite, "a device uses its own pool");
  std::vector<int> got(64), want(64);
  for (int round = 0; round < 3; ++round) {
    int *a = nullptr, *b = nullptr;
    CUDA_OK(cudaMallocAsync(&a, 64 * sizeof(int), stream));
    CUDA_OK(cudaMallocFromPoolAsync(&b, 64 * sizeof(int), pool, stream));
    fill<<<1, 64, 0, stream>>>(a, round * 100);
    CUDA_OK(cudaMemcpyAsync(b, a, 64 * sizeof(int), cudaMemcpyDeviceToDevice, stream));
    CUDA_OK(cudaFreeAsync(a, stream));
    CUDA_OK(cudaMemcpyAsync(got.data(), b, 64 * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CUDA_OK(cudaFreeAsync(b, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    for (int i = 0; i < 64; ++i) want[i] = round * 100 + i;
    report.equal(round == 0 ? "first" : round == 1 ? "second" : "third", got, want);
  }
  CUDA_OK(cudaMemPoolTrimTo(pool, 0));
  CUDA_OK(cudaStreamDestroy(stream));
  return report.finish();
}
