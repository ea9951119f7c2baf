// All shortest paths by Floyd and Warshall, with tiles in shared memory and barriers around each step.
#include <algorithm>

#include "../programs/check.cuh"

constexpr int kNodes = 32, kFar = 1 << 20;

__global__ void paths(int* lengths) {
  __shared__ int tile[kNodes][kNodes + 1];
  const int row = threadIdx.x / kNodes, column = threadIdx.x % kNodes;
  tile[row][column] = lengths[threadIdx.x];
  __syncthreads();
  for (int k = 0; k < kNodes; ++k) {
    const int around = tile[row][k] + tile[k][column];
    __syncthreads();
    if (around < tile[row][column]) tile[row][column] = around;
    __syncthreads();
  }
  lengths[threadIdx.x] = tile[row][column];
}

int main() {
  Report report("shortest_paths");
  Random random(29);
  std::vector<int> lengths(kNodes * kNodes);
  for (int i = 0; i < kNodes * kNodes; ++i)
    lengths[i] = i / kNodes == i % kNodes ? 0 : random.below(4) == 0 ? 1 + random.below(50) : kFar;
  DeviceBuffer<int> device(lengths);
  paths<<<1, kNodes * kNodes>>>(device.get());
  LAUNCHED_OK();
  for (int k = 0; k < kNodes; ++k)
    for (int i = 0; i < kNodes; ++i)
      for (int j = 0; j < kNodes; ++j)
        lengths[i * kNodes + j] =
            std::min(lengths[i * kNodes + j], lengths[i * kNodes + k] + lengths[k * kNodes + j]);
  report.equal("lengths", device.download(), lengths);
  return report.finish();
}
