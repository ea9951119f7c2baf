// C = A · Bᵀ in half precision: cp.async into shared tiles, ldmatrix, mma.sync m16n8k16. One block computes
// 64 x 64, each of its four warps 32 x 32. Unpadded and padded tiles.
#include <cuda_fp16.h>

#include "buffers.cuh"

constexpr int kTile = 64;   // rows of A, and of B, in a block's tile
constexpr int kDepth = 32;  // columns of both in one step
constexpr int kThreads = 128;

__device__ void copy_async_16(__half* shared, const __half* global) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(global) : "memory");
}

__device__ void load_fragments(unsigned (&r)[4], const __half* row) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

__device__ void multiply_add(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <int kPad>
__global__ void matmul(const __half* a, const __half* b, float* c, int n) {
  __shared__ alignas(128) __half tile_a[kTile][kDepth + kPad];
  __shared__ alignas(128) __half tile_b[kTile][kDepth + kPad];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / 2 * 32, warp_column = warp % 2 * 32;
  float sums[2][4][4] = {};
  for (int k0 = 0; k0 < n; k0 += kDepth) {
    for (int i = threadIdx.x; i < kTile * kDepth / 8; i += kThreads) {
      const int row = i / (kDepth / 8), column = i % (kDepth / 8) * 8;
      copy_async_16(&tile_a[row][column], &a[(blockIdx.y * kTile + row) * n + k0 + column]);
      copy_async_16(&tile_b[row][column], &b[(blockIdx.x * kTile + row) * n + k0 + column]);
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    for (int k = 0; k < kDepth; k += 16) {
      unsigned fragment_a[2][4], fragment_b[2][4];
      for (int i = 0; i < 2; ++i) {
        load_fragments(fragment_a[i], &tile_a[warp_row + 16 * i + lane % 16][k + lane / 16 * 8]);
        load_fragments(fragment_b[i], &tile_b[warp_column + 16 * i + lane % 16][k + lane / 16 * 8]);
      }
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 4; ++j) {
          multiply_add(sums[i][j], fragment_a[i], fragment_b[j / 2][j % 2], fragment_b[j / 2][j % 2 + 2]);
        }
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 4; ++j) {
      const int row = blockIdx.y * kTile + warp_row + 16 * i + lane / 4;
      const int column = blockIdx.x * kTile + warp_column + 8 * j + lane % 4 * 2;
      *reinterpret_cast<float2*>(&c[row * n + column]) = make_float2(sums[i][j][0], sums[i][j][1]);
      *reinterpret_cast<float2*>(&c[(row + 8) * n + column]) = make_float2(sums[i][j][2], sums[i][j][3]);
    }
  }
}

int main() {
  const int n = 256;
  std::vector<__half> values(n * n);
  for (int i = 0; i < n * n; ++i) values[i] = __float2half(static_cast<float>(i % 5));
  __half* a = to_device(values);
  __half* b = to_device(values);
  float* c = device_buffer<float>(n * n);
  const dim3 grid(n / kTile, n / kTile);
  matmul<0><<<grid, kThreads>>>(a, b, c, n);
  matmul<8><<<grid, kThreads>>>(a, b, c, n);
  return finish({a, b, c});
}
