// Tiles that a tensor map swizzles and wgmma reads: all swizzles and none, K in several steps inside a tile.
#include <cuda_fp16.h>

#include "matrices.cuh"
#include "tensor.cuh"
#include "wgmma.cuh"

using namespace hopper;

constexpr int kM = 64, kN = 64, kDepth = 128;

// kWidth: bytes of a tile's row, which is also the width of its swizzle; 16 is none.
template <int kWidth>
__global__ void product(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                        float* out) {
  constexpr int kHalves = kWidth / 2, kTiles = kDepth / kHalves;
  __shared__ __align__(1024) __half a_tile[kTiles][kM * kHalves], b_tile[kTiles][kN * kHalves];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    arrive_expect(&barrier, sizeof a_tile + sizeof b_tile);
    for (int i = 0; i < kTiles; ++i) {
      load_box_2d(a_tile[i], &a, i * kHalves, 0, &barrier);
      load_box_2d(b_tile[i], &b, i * kHalves, 0, &barrier);
    }
  }
  wait(&barrier, 0);
  // Without a swizzle, a tile is one column of pieces of 8 rows of 16 bytes; two tiles are one step along k.
  constexpr uint32_t kLeading = kWidth == 16 ? sizeof a_tile[0] : 16, kStride = 8 * kWidth;
  constexpr uint64_t kMode = kWidth == 128 ? 1 : kWidth == 64 ? 2 : kWidth == 32 ? 3 : 0;
  uint32_t d[kN / 2];
  products_fence();
  for (int k = 0; k < kDepth; k += 16)
    WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 0, 0", d,
               descriptor(&a_tile[k / kHalves][k % kHalves], kLeading, kStride, kMode),
               descriptor(&b_tile[k / kHalves][k % kHalves], kLeading, kStride, kMode), k > 0);
  products_commit();
  products_wait();
  store_result(d, out, kN);
}

template <int kWidth>
void check(Report& report, Random& random, const char* name, CUtensorMapSwizzle swizzle) {
  const std::vector<__half> a = whole_numbers<__half>(random, kM * kDepth, -8, 8);
  const std::vector<__half> b = whole_numbers<__half>(random, kN * kDepth, -8, 8);
  DeviceBuffer<__half> device_a(a), device_b(b);
  DeviceBuffer<float> out(kM * kN);
  auto map_of = [&](const DeviceBuffer<__half>& buffer, int rows) {
    return tensor_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, buffer.get(), {kDepth, static_cast<cuuint64_t>(rows)},
                      {kDepth * 2}, {kWidth / 2, static_cast<cuuint32_t>(rows)}, swizzle);
  };
  product<kWidth><<<1, 128>>>(map_of(device_a, kM), map_of(device_b, kN), out.get());
  LAUNCHED_OK();
  report.equal(name, out.download(), product_of(a, b, kM, kN, kDepth));
}

int main() {
  Report report("tensor_to_products");
  Random random(101);
  check<16>(report, random, "plain", CU_TENSOR_MAP_SWIZZLE_NONE);
  check<32>(report, random, "swizzle_32", CU_TENSOR_MAP_SWIZZLE_32B);
  check<64>(report, random, "swizzle_64", CU_TENSOR_MAP_SWIZZLE_64B);
  check<128>(report, random, "swizzle_128", CU_TENSOR_MAP_SWIZZLE_128B);
  return report.finish();
}
