// Boxes narrower than their swizzle: their rows are as far apart in shared memory as the swizzle is wide, and
// what lies between them is left as it was.
#include "pixels.cuh"

using namespace hopper;

constexpr int kRows = 12, kWide = 64, kTileBytes = kRows * 128;

__global__ void move(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to,
                     int row_bytes, int x, int y, uint16_t* out) {
  __shared__ __align__(1024) uint16_t tile[kTileBytes / 2];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
  }
  for (uint32_t i = threadIdx.x; i < kTileBytes / 2; i += blockDim.x) tile[i] = 0xaaaa;
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    arrive_expect(&barrier, static_cast<uint32_t>(row_bytes * kRows));
    load_box_2d(tile, &from, x, y, &barrier);
  }
  wait(&barrier, 0);
  for (uint32_t i = threadIdx.x; i < kTileBytes / 2; i += blockDim.x) out[i] = tile[i];
  __syncthreads();
  if (threadIdx.x == 0) {
    store_box_2d(&to, tile, 0, 0);
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

void check(Report& report, Random& random, const char* name, CUtensorMapSwizzle swizzle, int span,
           int width) {
  constexpr int kHeight = 20, kX = 8, kY = 11;
  std::vector<uint16_t> values(kWide * kHeight), wanted_tile(kTileBytes / 2, 0xaaaa),
      wanted_copy(kRows * kWide, 0);
  for (uint16_t& value : values) value = static_cast<uint16_t>(random.below(65535) + 1);
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < width; ++c) {
      const bool inside = kY + r < kHeight && kX + c < kWide;
      const uint16_t value = inside ? values[static_cast<size_t>((kY + r) * kWide + kX + c)] : uint16_t{0};
      wanted_tile[swizzled(static_cast<uint32_t>(r * span + c * 2), span) / 2] = value;
      wanted_copy[static_cast<size_t>(r * kWide + c)] = value;
    }
  DeviceBuffer<uint16_t> tensor(values), tile(kTileBytes / 2), copy(std::vector<uint16_t>(kRows * kWide, 0));
  const auto columns = static_cast<cuuint32_t>(width);
  const CUtensorMap from = tensor_map(CU_TENSOR_MAP_DATA_TYPE_UINT16, tensor.get(), {kWide, kHeight},
                                      {kWide * 2}, {columns, kRows}, swizzle);
  const CUtensorMap to = tensor_map(CU_TENSOR_MAP_DATA_TYPE_UINT16, copy.get(), {kWide, kRows}, {kWide * 2},
                                    {columns, kRows}, swizzle);
  move<<<1, 64>>>(from, to, width * 2, kX, kY, tile.get());
  LAUNCHED_OK();
  report.equal(name, tile.download(), wanted_tile);
  report.equal(name, copy.download(), wanted_copy);
}

int main() {
  Report report("tensor_narrow");
  Random random(134);
  check(report, random, "16_of_32", CU_TENSOR_MAP_SWIZZLE_32B, 32, 8);
  check(report, random, "48_of_64", CU_TENSOR_MAP_SWIZZLE_64B, 64, 24);
  check(report, random, "32_of_128", CU_TENSOR_MAP_SWIZZLE_128B, 128, 16);
  check(report, random, "112_of_128", CU_TENSOR_MAP_SWIZZLE_128B, 128, 56);
  return report.finish();
}
