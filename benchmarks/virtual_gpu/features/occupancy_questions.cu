// What the runtime says of a kernel agrees with itself and with what launches.
#include "../programs/check.cuh"

__global__ void __launch_bounds__(256, 2) plain(float* out) {
  __shared__ float tile[512];
  tile[threadIdx.x] = static_cast<float>(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

int main() {
  Report report("occupancy_questions");
  cudaFuncAttributes known{};
  CUDA_OK(cudaFuncGetAttributes(&known, plain));
  report.check(known.sharedSizeBytes == 512 * sizeof(float), "static shared memory");
  report.check(known.maxThreadsPerBlock == 256 && known.numRegs > 0, "the launch bounds");
  int one = 0, more = 0, small = 0, best = 0;
  CUDA_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&one, plain, 256, 0));
  CUDA_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&more, plain, 256, 40 << 10));
  CUDA_OK(cudaOccupancyMaxPotentialBlockSize(&small, &best, plain));
  report.check(one >= 2 && more >= 1 && more <= one, "more shared memory, fewer blocks");
  report.check(best > 0 && best <= 256 && best % 32 == 0, "a block size within the bounds");
  DeviceBuffer<float> output(256);
  plain<<<1, 257>>>(output.get());
  report.check(cudaGetLastError() != cudaSuccess, "a block beyond the bounds");
  plain<<<1, 256>>>(output.get());
  LAUNCHED_OK();
  std::vector<float> want;
  for (int i = 255; i >= 0; --i) want.push_back(static_cast<float>(i));
  report.equal("reversed", output.download(), want);
  return report.finish();
}
