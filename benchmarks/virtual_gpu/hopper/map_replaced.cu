// A kernel that makes its tensor maps itself: it takes a map of the host as a pattern, replaces address,
// sizes and stride in shared memory, and publishes the map in device memory for the copy engine.
#include "tensor.cuh"

using namespace hopper;

constexpr int kRows = 8, kColumns = 32, kMatrices = 3;

struct Matrix {
  int* data;
  int width, height;
};

__global__ void gather(const __grid_constant__ CUtensorMap pattern, const Matrix* matrices, CUtensorMap* maps,
                       int* out) {
  __shared__ __align__(128) CUtensorMap made;
  __shared__ __align__(128) int tile[kRows * kColumns];
  __shared__ uint64_t barrier;
  CUtensorMap* const map = maps + blockIdx.x;
  if (threadIdx.x == 0) {
    made = pattern;
    const Matrix matrix = matrices[blockIdx.x];
    const uint32_t to = shared_address(&made);
    asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(to),
                 "l"(matrix.data)
                 : "memory");
    asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 0, %1;" ::"r"(to),
                 "r"(matrix.width)
                 : "memory");
    asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;" ::"r"(to),
                 "r"(matrix.height)
                 : "memory");
    asm volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 0, %1;" ::"r"(to),
                 "l"(static_cast<uint64_t>(matrix.width) * 4)
                 : "memory");
    barrier_init(&barrier, 1);
    fence_barrier_init();
  }
  __syncwarp();
  if (threadIdx.x < 32)
    asm volatile(
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], "
        "128;" ::"l"(map),
        "r"(shared_address(&made))
        : "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
    arrive_expect(&barrier, sizeof tile);
    load_box_2d(tile, map, 4, 2, &barrier);
  }
  wait(&barrier, 0);
  for (int i = threadIdx.x; i < kRows * kColumns; i += blockDim.x)
    out[blockIdx.x * kRows * kColumns + i] = tile[i];
}

int main() {
  Report report("map_replaced");
  Random random(121);
  const int widths[kMatrices] = {64, 20, 36}, heights[kMatrices] = {16, 7, 30};
  std::vector<int> values(4096), want;
  for (int& value : values) value = random.below(10000) + 1;
  DeviceBuffer<int> in(values), out(kMatrices * kRows * kColumns);
  std::vector<Matrix> matrices;
  int begin = 0;
  for (int m = 0; m < kMatrices; ++m) {
    matrices.push_back({in.get() + begin, widths[m], heights[m]});
    for (int r = 0; r < kRows; ++r)
      for (int c = 0; c < kColumns; ++c) {
        const int x = 4 + c, y = 2 + r;
        want.push_back(x < widths[m] && y < heights[m] ? values[begin + y * widths[m] + x] : 0);
      }
    begin += widths[m] * heights[m];
  }
  DeviceBuffer<Matrix> device_matrices(matrices);
  DeviceBuffer<CUtensorMap> maps(kMatrices);
  const CUtensorMap pattern =
      tensor_map(CU_TENSOR_MAP_DATA_TYPE_INT32, in.get(), {64, 64}, {256}, {kColumns, kRows});
  gather<<<kMatrices, 64>>>(pattern, device_matrices.get(), maps.get(), out.get());
  LAUNCHED_OK();
  report.equal("boxes", out.download(), want);
  return report.finish();
}
