// Tensor maps of every element type: a box comes in, goes out to another tensor, and is added where PTX can.
#include "tensor.cuh"

using namespace hopper;

constexpr int kRows = 8, kRowBytes = 64;

__global__ void move(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to, int x,
                     int y, bool add) {
  __shared__ __align__(128) uint8_t tile[kRows * kRowBytes];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    arrive_expect(&barrier, sizeof tile);
    load_box_2d(tile, &from, x, y, &barrier);
    wait(&barrier, 0);
    if (add)
      asm volatile(
          "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&to),
          "r"(0), "r"(0), "r"(shared_address(tile))
          : "memory");
    else
      store_box_2d(&to, tile, 0, 0);
    commit();
    wait_writes();
  }
}

template <class T>
void check(Report& report, const char* name, CUtensorMapDataType type, Random& random, bool add) {
  const int box = kRowBytes / sizeof(T), width = 3 * box, height = 20;
  std::vector<T> values(width * height), want(box * kRows);
  for (T& value : values) value = static_cast<T>(random.below(100));
  for (T& value : want) value = static_cast<T>(random.below(20));
  DeviceBuffer<T> in(values), out(want);
  const auto w = static_cast<cuuint64_t>(width), h = static_cast<cuuint64_t>(height);
  const auto b = static_cast<cuuint32_t>(box);
  const CUtensorMap from = tensor_map(type, in.get(), {w, h}, {w * sizeof(T)}, {b, kRows});
  const CUtensorMap to = tensor_map(type, out.get(), {b, kRows}, {kRowBytes}, {b, kRows});
  const int x = static_cast<int>(16 / sizeof(T)), y = 15;  // the last rows lie outside
  move<<<1, 32>>>(from, to, x, y, add);
  LAUNCHED_OK();
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < box; ++c) {
      const T value = y + r < height ? values[(y + r) * width + x + c] : T(0);
      want[r * box + c] = add ? static_cast<T>(want[r * box + c] + value) : value;
    }
  report.equal(name, out.download(), want);
}

int main() {
  Report report("tensor_types");
  Random random(43);
  check<uint8_t>(report, "u8", CU_TENSOR_MAP_DATA_TYPE_UINT8, random, false);
  check<uint16_t>(report, "u16", CU_TENSOR_MAP_DATA_TYPE_UINT16, random, false);
  check<uint32_t>(report, "u32", CU_TENSOR_MAP_DATA_TYPE_UINT32, random, false);
  check<int>(report, "s32", CU_TENSOR_MAP_DATA_TYPE_INT32, random, false);
  check<uint64_t>(report, "u64", CU_TENSOR_MAP_DATA_TYPE_UINT64, random, false);
  check<int64_t>(report, "s64", CU_TENSOR_MAP_DATA_TYPE_INT64, random, false);
  check<float>(report, "f32", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, random, false);
  check<double>(report, "f64", CU_TENSOR_MAP_DATA_TYPE_FLOAT64, random, false);
  check<uint32_t>(report, "add_u32", CU_TENSOR_MAP_DATA_TYPE_UINT32, random, true);
  check<int>(report, "add_s32", CU_TENSOR_MAP_DATA_TYPE_INT32, random, true);
  check<uint64_t>(report, "add_u64", CU_TENSOR_MAP_DATA_TYPE_UINT64, random, true);
  check<float>(report, "add_f32", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, random, true);
  return report.finish();
}
