// What a tensor load puts where its box leaves the tensor: zeros, or NaN of the element type.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "tensor.cuh"

using namespace hopper;

constexpr int kRows = 8, kRowBytes = 64;

template <class T>
__global__ void fetch(const __grid_constant__ CUtensorMap map, int x, int y, float* out) {
  __shared__ __align__(128) T tile[kRows * kRowBytes / sizeof(T)];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    arrive_expect(&barrier, sizeof tile);
    load_box_2d(tile, &map, x, y, &barrier);
  }
  wait(&barrier, 0);
  for (int i = threadIdx.x; i < kRows * kRowBytes / static_cast<int>(sizeof(T)); i += blockDim.x)
    out[i] = static_cast<float>(tile[i]);
}

template <class T>
void check(Report& report, const char* name, CUtensorMapDataType type, Random& random, bool nan) {
  constexpr int kBox = kRowBytes / sizeof(T);
  const int width = kBox + 5, height = 11, pitch = 2 * kBox;  // the last row of 16 bytes is not full
  std::vector<T> values(pitch * height);
  for (T& value : values) value = static_cast<T>(random.uniform(-4, 4));
  DeviceBuffer<T> tensor(values);
  DeviceBuffer<float> out(kRows * kBox);
  const CUtensorMap map =
      tensor_map(type, tensor.get(), {static_cast<cuuint64_t>(width), static_cast<cuuint64_t>(height)},
                 {pitch * sizeof(T)}, {kBox, kRows}, CU_TENSOR_MAP_SWIZZLE_NONE, {},
                 nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  std::vector<float> got, want;
  const int corners[][2] = {{0, 0}, {static_cast<int>(16 / sizeof(T)), 6}, {-kBox / 2, -3}, {2 * kBox, 2}};
  for (const auto& at : corners) {
    fetch<T><<<1, 64>>>(map, at[0], at[1], out.get());
    LAUNCHED_OK();
    const std::vector<float> part = out.download();
    got.insert(got.end(), part.begin(), part.end());
    for (int r = 0; r < kRows; ++r)
      for (int c = 0; c < kBox; ++c) {
        const int x = at[0] + c, y = at[1] + r;
        const bool inside = x >= 0 && x < width && y >= 0 && y < height;
        want.push_back(inside ? static_cast<float>(values[y * pitch + x]) : nan ? NAN : 0.0f);
      }
  }
  report.equal(name, got, want);
}

int main() {
  Report report("tensor_fill");
  Random random(88);
  for (const bool nan : {false, true}) {
    check<__half>(report, nan ? "f16_nan" : "f16_zero", CU_TENSOR_MAP_DATA_TYPE_FLOAT16, random, nan);
    check<__nv_bfloat16>(report, nan ? "bf16_nan" : "bf16_zero", CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, random,
                         nan);
    check<float>(report, nan ? "f32_nan" : "f32_zero", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, random, nan);
  }
  return report.finish();
}
