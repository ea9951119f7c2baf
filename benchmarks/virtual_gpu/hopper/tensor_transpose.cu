// A matrix transposed tile by tile: a swizzled box comes in, its columns become rows in shared memory without
// bank conflicts, and a swizzled box goes out.
#include "tensor.cuh"

using namespace hopper;

constexpr int kSide = 32;  // floats: a row of a tile is 128 bytes, as wide as the swizzle

__device__ int place(int row, int column) {
  return static_cast<int>(swizzled(row * kSide * 4 + column * 4, 128)) / 4;
}

__global__ void transpose(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to) {
  __shared__ __align__(1024) float in[kSide * kSide];
  __shared__ __align__(1024) float out[kSide * kSide];
  __shared__ uint64_t barrier;
  const int x = blockIdx.x * kSide, y = blockIdx.y * kSide;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
    arrive_expect(&barrier, sizeof in);
    load_box_2d(in, &from, x, y, &barrier);
  }
  __syncthreads();
  wait(&barrier, 0);
  for (int i = threadIdx.x; i < kSide * kSide; i += blockDim.x)
    out[place(i % kSide, i / kSide)] = in[place(i / kSide, i % kSide)];
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    store_box_2d(&to, out, y, x);
    commit();
    wait_reads();
  }
}

int main() {
  Report report("tensor_transpose");
  Random random(91);
  const int rows = 76, columns = 100;  // no multiples of the tile: loads are filled, stores are clipped
  std::vector<float> values(rows * columns), want(rows * columns);
  for (float& value : values) value = random.uniform(-1, 1);
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) want[c * rows + r] = values[r * columns + c];
  DeviceBuffer<float> in(values), out(rows * columns);
  const CUtensorMap from = tensor_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, in.get(), {columns, rows},
                                      {columns * 4}, {kSide, kSide}, CU_TENSOR_MAP_SWIZZLE_128B);
  const CUtensorMap to = tensor_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, out.get(), {rows, columns}, {rows * 4},
                                    {kSide, kSide}, CU_TENSOR_MAP_SWIZZLE_128B);
  transpose<<<dim3(blocks_for(columns, kSide), blocks_for(rows, kSide)), 128>>>(from, to);
  LAUNCHED_OK();
  report.equal("transposed", out.download(), want);
  return report.finish();
}
