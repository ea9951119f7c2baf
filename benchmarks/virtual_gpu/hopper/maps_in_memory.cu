// Tensor maps outside of the kernel's parameters: an array of them in device memory, one per matrix, and one
// in constant memory.
#include "tensor.cuh"

using namespace hopper;

constexpr int kRows = 8, kColumns = 16, kMatrices = 3;

__constant__ CUtensorMap fixed_map;

__global__ void gather(const CUtensorMap* maps, int* out) {
  __shared__ __align__(128) int tile[2][kRows * kColumns];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    arrive_expect(&barrier, sizeof tile);
    load_box_2d(tile[0], maps + blockIdx.x, 4, 1, &barrier);
    load_box_2d(tile[1], &fixed_map, 0, static_cast<int>(blockIdx.x), &barrier);
  }
  wait(&barrier, 0);
  for (int i = threadIdx.x; i < kRows * kColumns; i += blockDim.x)
    out[blockIdx.x * kRows * kColumns + i] = tile[0][i] - tile[1][i];
}

int main() {
  Report report("maps_in_memory");
  Random random(120);
  const int width = 32, height = 12, size = width * height;
  std::vector<int> values((kMatrices + 1) * size), want;
  for (int& value : values) value = random.below(10000);
  DeviceBuffer<int> in(values), out(kMatrices * kRows * kColumns);
  std::vector<CUtensorMap> maps;
  for (int m = 0; m <= kMatrices; ++m)
    maps.push_back(tensor_map(CU_TENSOR_MAP_DATA_TYPE_INT32, in.get() + m * size, {width, height},
                              {width * 4}, {kColumns, kRows}));
  CUDA_OK(cudaMemcpyToSymbol(fixed_map, &maps[kMatrices], sizeof(CUtensorMap)));
  maps.pop_back();
  DeviceBuffer<CUtensorMap> device_maps(maps);
  gather<<<kMatrices, 64>>>(device_maps.get(), out.get());
  LAUNCHED_OK();
  for (int m = 0; m < kMatrices; ++m)
    for (int r = 0; r < kRows; ++r)
      for (int c = 0; c < kColumns; ++c)
        want.push_back(values[m * size + (1 + r) * width + 4 + c] -
                       values[kMatrices * size + (m + r) * width + c]);
  report.equal("differences", out.download(), want);
  return report.finish();
}
