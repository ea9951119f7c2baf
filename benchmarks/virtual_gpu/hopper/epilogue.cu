// The way of a result out of registers: as halves by stmatrix into a swizzled tile, and by a tensor map into
// device memory.
#include "matrices.cuh"
#include "tensor.cuh"
#include "tiles.cuh"

using namespace hopper;

constexpr int kM = 64, kN = 64;

__device__ uint32_t pack(uint32_t low, uint32_t high) {
  const __half2 pair = __floats2half2_rn(__uint_as_float(low), __uint_as_float(high));
  return *reinterpret_cast<const uint32_t*>(&pair);
}

__global__ void multiply(const __half* a, const __half* b, const __grid_constant__ CUtensorMap c) {
  __shared__ __align__(1024) __half a_tile[kM * kTileDepth], b_tile[kN * kTileDepth], c_tile[kM * kN];
  fill_tile(a_tile, a + blockIdx.x * kM * kTileDepth, kM, kTileDepth);
  fill_tile(b_tile, b, kN, kTileDepth);
  fence_async();
  __syncthreads();
  uint32_t d[kN / 2];
  products_fence();
  for (int step = 0; step < kTileDepth / 16; ++step)
    WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 0, 0", d, tile_descriptor(a_tile, step),
               tile_descriptor(b_tile, step), step > 0);
  products_commit();
  products_wait();
  // Lanes 0 to 7 name the rows of the first matrix of 8 x 8, lanes 8 to 15 those of the second, and so on:
  // rows 0 to 7 and 8 to 15 of 8 columns, then the same rows of the next 8 columns.
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane % 16;
#pragma unroll
  for (int i = 0; i < kN / 2; i += 8) {
    const int column = i * 2 + lane / 16 * 8;
    const uint32_t to = shared_address(c_tile) + swizzled(row * 128 + column * 2, 128);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
                 "r"(pack(d[i], d[i + 1])), "r"(pack(d[i + 2], d[i + 3])), "r"(pack(d[i + 4], d[i + 5])),
                 "r"(pack(d[i + 6], d[i + 7]))
                 : "memory");
  }
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    store_box_2d(&c, c_tile, 0, blockIdx.x * kM);
    commit();
    wait_reads();
  }
}

int main() {
  Report report("epilogue");
  Random random(111);
  const int rows = 2 * kM;
  const std::vector<__half> a = whole_numbers<__half>(random, rows * kTileDepth, -4, 4);
  const std::vector<__half> b = whole_numbers<__half>(random, kN * kTileDepth, -4, 4);
  DeviceBuffer<__half> device_a(a), device_b(b), c(rows * kN);
  const CUtensorMap map = tensor_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, c.get(), {kN, rows}, {kN * 2}, {kN, kM},
                                     CU_TENSOR_MAP_SWIZZLE_128B);
  multiply<<<2, 128>>>(device_a.get(), device_b.get(), map);
  LAUNCHED_OK();
  std::vector<float> got;
  for (const __half value : c.download()) got.push_back(__half2float(value));
  report.equal("product", got, product_of(a, b, rows, kN, kTileDepth));
  return report.finish();
}
