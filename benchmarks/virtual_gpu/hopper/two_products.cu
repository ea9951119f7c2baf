// Two products in a row, as attention has them: scores from Q and K, then the scores as halves in registers
// times V, which lies along its columns and is taken transposed. All tiles come by tensor maps. Whole numbers
// throughout.
#include <cuda_fp16.h>

#include "tensor.cuh"
#include "wgmma.cuh"

using namespace hopper;

constexpr int kQueries = 64, kKeys = 64, kHead = 64;

__global__ void attend(const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,
                       const __grid_constant__ CUtensorMap v, int tiles, float* out) {
  __shared__ __align__(1024) __half q_tile[kQueries * kHead];
  __shared__ __align__(1024) __half k_tile[2][kKeys * kHead], v_tile[2][kKeys * kHead];
  __shared__ uint64_t q_full, full[2];
  if (threadIdx.x == 0) {
    barrier_init(&q_full, 1);
    for (int s = 0; s < 2; ++s) barrier_init(&full[s], 1);
    fence_barrier_init();
  }
  __syncthreads();
  auto fetch = [&](int tile) {
    const int s = tile % 2;
    arrive_expect(&full[s], 2 * sizeof k_tile[0]);
    load_box_2d(k_tile[s], &k, 0, tile * kKeys, &full[s]);
    load_box_2d(v_tile[s], &v, 0, tile * kKeys, &full[s]);
  };
  if (threadIdx.x == 0) {
    arrive_expect(&q_full, sizeof q_tile);
    load_box_2d(q_tile, &q, 0, blockIdx.x * kQueries, &q_full);
    fetch(0);
  }
  wait(&q_full, 0);
  uint32_t o[32];
  for (int i = 0; i < 32; ++i) o[i] = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    const int s = tile % 2;
    if (threadIdx.x == 0 && tile + 1 < tiles) fetch(tile + 1);
    wait(&full[s], tile / 2 & 1);
    uint32_t scores[32];
    for (int i = 0; i < 32; ++i) scores[i] = 0;
    products_fence();
    for (int step = 0; step < kHead / 16; ++step)
      WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 0, 0", scores, descriptor(q_tile + step * 16, 16, 1024, 1),
                 descriptor(k_tile[s] + step * 16, 16, 1024, 1), 1);
    products_commit();
    products_wait();
    // The scores' places in registers are those that A wants: pairs of columns side by side.
    uint32_t p[kKeys / 16][4];
    for (int step = 0; step < kKeys / 16; ++step)
      for (int r = 0; r < 4; ++r) {
        const int at = step * 8 + (r / 2) * 4 + (r % 2) * 2;
        const __half2 pair = __floats2half2_rn(__uint_as_float(scores[at]), __uint_as_float(scores[at + 1]));
        p[step][r] = *reinterpret_cast<const uint32_t*>(&pair);
      }
    products_fence();
    for (int step = 0; step < kKeys / 16; ++step)
      WGMMA_32_R("m64n64k16.f32.f16.f16", ", 1, 1, 1", o, p[step],
                 descriptor(v_tile[s] + step * 16 * kHead, 64 * kHead * 2, 1024, 1), 1);
    products_commit();
    products_wait();
    __syncthreads();  // all are done with the stage
  }
  const int lane = threadIdx.x % 32, row = blockIdx.x * kQueries + threadIdx.x / 32 * 16 + lane / 4;
  for (int i = 0; i < 32; ++i)
    out[(row + 8 * (i / 2 % 2)) * kHead + i / 4 * 8 + lane % 4 * 2 + i % 2] = __uint_as_float(o[i]);
}

int main() {
  Report report("two_products");
  Random random(62);
  const int queries = 2 * kQueries, tiles = 5, keys = tiles * kKeys;
  auto draw = [&](int rows) {
    std::vector<__half> values(rows * kHead);
    for (__half& value : values) value = __float2half(static_cast<float>(random.below(5) - 2));
    return values;
  };
  const std::vector<__half> q = draw(queries), k = draw(keys), v = draw(keys);
  std::vector<float> want(queries * kHead);
  for (int i = 0; i < queries; ++i)
    for (int j = 0; j < keys; ++j) {
      float score = 0;
      for (int d = 0; d < kHead; ++d)
        score += __half2float(q[i * kHead + d]) * __half2float(k[j * kHead + d]);
      for (int d = 0; d < kHead; ++d) want[i * kHead + d] += score * __half2float(v[j * kHead + d]);
    }
  DeviceBuffer<__half> device_q(q), device_k(k), device_v(v);
  DeviceBuffer<float> out(queries * kHead);
  auto map_of = [&](const DeviceBuffer<__half>& buffer, int rows) {
    return tensor_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, buffer.get(), {kHead, static_cast<cuuint64_t>(rows)},
                      {kHead * 2}, {kHead, 64}, CU_TENSOR_MAP_SWIZZLE_128B);
  };
  attend<<<queries / kQueries, 128>>>(map_of(device_q, queries), map_of(device_k, keys),
                                      map_of(device_v, keys), tiles, out.get());
  LAUNCHED_OK();
  report.equal("attended", out.download(), want);
  return report.finish();
}
