// A tensor copy fills a tile that begins three rows of 128 bytes past the swizzle's pattern. The copy
// swizzles by the address itself; the descriptor of B says that the pattern begins with the tile.
#include "../hopper/tensor.cuh"
#include "../hopper/wgmma.cuh"
#include "products.cuh"

using namespace hopper;

constexpr int kWideDepth = 64, kRowBytes = 128, kFirstRow = 3;  // halves: rows of 128 bytes

__global__ void kernel(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                       float* out) {
  __shared__ __align__(1024) uint8_t a_tile[kSide * kRowBytes], b_room[(kSide + kFirstRow) * kRowBytes];
  __shared__ uint64_t barrier;
  uint8_t* const b_tile = b_room + kFirstRow * kRowBytes;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    arrive_expect(&barrier, 2 * kSide * kRowBytes);
    load_box_2d(a_tile, &a, 0, 0, &barrier);
    load_box_2d(b_tile, &b, 0, 0, &barrier);  // other: memory
  }
  wait(&barrier, 0);
#ifdef FIXED
  constexpr uint64_t kBaseOffset = 0;
#else
  constexpr uint64_t kBaseOffset = kFirstRow;
#endif
  uint32_t d[32];
  for (int i = 0; i < 32; ++i) d[i] = 0;
  products_fence();
  for (int k = 0; k < kRowBytes; k += 32) {
    const uint64_t a_matrix = descriptor(a_tile + k, 16, 8 * kRowBytes, 1);
    const uint64_t b_matrix = descriptor(b_tile + k, 16, 8 * kRowBytes, 1) | kBaseOffset << 49;
    WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 0, 0", d, a_matrix, b_matrix, 1);  // expect: memory
  }
  products_commit();
  products_wait();
  store_result(d, out);
}

int main() {
  std::vector<__half> a(kSide * kWideDepth), b(kSide * kWideDepth);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = __float2half(static_cast<float>(static_cast<int>(i % 7) - 3));
    b[i] = __float2half(static_cast<float>(static_cast<int>(i % 5) - 2));
  }
  __half *device_a = to_device(a), *device_b = to_device(b);
  float* out = device_zeros<float>(kSide * kSide);
  auto map_of = [&](__half* matrix) {
    return tensor_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, matrix, {kWideDepth, kSide}, {kRowBytes},
                      {kWideDepth, kSide}, CU_TENSOR_MAP_SWIZZLE_128B);
  };
  kernel<<<1, 128>>>(map_of(device_a), map_of(device_b), out);
  const std::vector<float> got = to_host(out, kSide * kSide);
  bool right = true;
  for (int row = 0; row < kSide; ++row)
    for (int column = 0; column < kSide; ++column) {
      float sum = 0;
      for (int k = 0; k < kWideDepth; ++k)
        sum += __half2float(a[row * kWideDepth + k]) * __half2float(b[column * kWideDepth + k]);
      right = right && got[row * kSide + column] == sum;
    }
  cudaFree(device_a);
  cudaFree(device_b);
  cudaFree(out);
  return verdict(right);
}
