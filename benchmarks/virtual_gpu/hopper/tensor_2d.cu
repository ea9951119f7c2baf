// Tensor maps of two dimensions: every swizzle, boxes that reach outside of the tensor on all sides, stores
// that are clipped, reductions.
#include "tensor.cuh"

using namespace hopper;

constexpr int kRows = 16;

template <int kRowBytes>
__global__ void box_to_linear(const __grid_constant__ CUtensorMap map, int x, int y, uint8_t* out) {
  __shared__ __align__(1024) uint8_t tile[kRows * kRowBytes];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
    arrive_expect(&barrier, sizeof tile);
    load_box_2d(tile, &map, x, y, &barrier);
  }
  wait(&barrier, 0);
  for (int i = threadIdx.x; i < static_cast<int>(sizeof tile); i += blockDim.x) out[i] = tile[i];
}

template <int kRowBytes>
__global__ void linear_to_box(const __grid_constant__ CUtensorMap map, int x, int y, bool add) {
  __shared__ __align__(1024) uint16_t tile[kRows * kRowBytes / 2];
  for (int i = threadIdx.x; i < kRows * kRowBytes / 2; i += blockDim.x)
    tile[i] = static_cast<uint16_t>(i * 3 + 1);
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    if (add)
      asm volatile(
          "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%0, {%1, %2}], [%3];" ::"l"(
              &map),
          "r"(x), "r"(y), "r"(shared_address(tile))
          : "memory");
    else
      store_box_2d(&map, tile, x, y);
    commit();
    wait_writes();
  }
}

template <int kRowBytes>
void loads(Report& report, CUtensorMapSwizzle mode, const char* name, const std::vector<uint16_t>& values,
           int width, int height, int pitch) {
  DeviceBuffer<uint16_t> tensor(values);
  DeviceBuffer<uint8_t> out(kRows * kRowBytes);
  const CUtensorMap map = tensor_map(CU_TENSOR_MAP_DATA_TYPE_UINT16, tensor.get(),
                                     {static_cast<cuuint64_t>(width), static_cast<cuuint64_t>(height)},
                                     {static_cast<cuuint64_t>(pitch) * 2}, {kRowBytes / 2, kRows}, mode);
  std::vector<uint8_t> got, want;
  for (const auto& at :
       {std::pair{0, 0}, {8, 3}, {-16, -5}, {width - width % 8 - 8, height - 7}, {width + 64, 0}}) {
    box_to_linear<kRowBytes><<<1, 64>>>(map, at.first, at.second, out.get());
    LAUNCHED_OK();
    const std::vector<uint8_t> part = out.download();
    got.insert(got.end(), part.begin(), part.end());
    std::vector<uint8_t> box(kRows * kRowBytes);
    for (int r = 0; r < kRows; ++r)
      for (int c = 0; c < kRowBytes / 2; ++c) {
        const int x = at.first + c, y = at.second + r;
        const bool inside = x >= 0 && x < width && y >= 0 && y < height;
        const uint16_t value = inside ? values[y * pitch + x] : 0;
        std::memcpy(&box[swizzled(r * kRowBytes + c * 2, 16 << mode)], &value, 2);
      }
    want.insert(want.end(), box.begin(), box.end());
  }
  report.equal(name, got, want);
}

int main() {
  Report report("tensor_2d");
  Random random(41);
  const int width = 200, height = 37, pitch = 208;
  std::vector<uint16_t> values(pitch * height);
  for (uint16_t& value : values) value = static_cast<uint16_t>(random.next32());
  loads<64>(report, CU_TENSOR_MAP_SWIZZLE_NONE, "plain", values, width, height, pitch);
  loads<32>(report, CU_TENSOR_MAP_SWIZZLE_32B, "swizzle_32", values, width, height, pitch);
  loads<64>(report, CU_TENSOR_MAP_SWIZZLE_64B, "swizzle_64", values, width, height, pitch);
  loads<128>(report, CU_TENSOR_MAP_SWIZZLE_128B, "swizzle_128", values, width, height, pitch);

  for (const bool add : {false, true}) {
    std::vector<uint32_t> want(64 * 24, 7);
    DeviceBuffer<uint32_t> out(want);
    const CUtensorMap map = tensor_map(CU_TENSOR_MAP_DATA_TYPE_UINT32, out.get(), {60, 22}, {64 * 4},
                                       {32, kRows}, CU_TENSOR_MAP_SWIZZLE_128B);
    std::vector<uint32_t> tile(kRows * 32);
    for (int i = 0; i < kRows * 64; ++i)
      reinterpret_cast<uint16_t*>(tile.data())[i] = static_cast<uint16_t>(i * 3 + 1);
    for (const auto& at : {std::pair{0, 0}, {28, 10}, {64, 4}}) {
      linear_to_box<128><<<1, 64>>>(map, at.first, at.second, add);
      LAUNCHED_OK();
      for (int r = 0; r < kRows; ++r)
        for (int c = 0; c < 32; ++c) {
          const int x = at.first + c, y = at.second + r;
          if (x < 0 || x >= 60 || y < 0 || y >= 22) continue;
          const uint32_t value = tile[swizzled(r * 128 + c * 4, 128) / 4];
          want[y * 64 + x] = add ? want[y * 64 + x] + value : value;
        }
    }
    report.equal(add ? "reduced" : "stored", out.download(), want);
  }
  return report.finish();
}
