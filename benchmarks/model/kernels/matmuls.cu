// Products of square matrices, C = A B, row-major: fp32 on the ordinary cores, fp16 on the tensor cores.
#include "bench.cuh"

namespace {

__global__ void naive(const float* a, const float* b, float* c, int n) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

// As above with the indices the other way round: lanes of a warp read down a column.
__global__ void naive_down_columns(const float* a, const float* b, float* c, int n) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

template <int kTile>
__global__ void tiled(const float* a, const float* b, float* c, int n) {
  __shared__ float a_tile[kTile][kTile], b_tile[kTile][kTile];
  const int column = blockIdx.x * kTile + threadIdx.x, row = blockIdx.y * kTile + threadIdx.y;
  float sum = 0;
  for (int k0 = 0; k0 < n; k0 += kTile) {
    a_tile[threadIdx.y][threadIdx.x] = a[row * n + k0 + threadIdx.x];
    b_tile[threadIdx.y][threadIdx.x] = b[(k0 + threadIdx.y) * n + column];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kTile; ++k) sum += a_tile[threadIdx.y][k] * b_tile[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// A 64 x 64 tile a block of 256 threads, kEach x kEach results a thread.
template <int kEach>
__global__ void in_registers(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                             int n) {
  constexpr int kTile = 16 * kEach, kDepth = 16;
  __shared__ float a_tile[kDepth][kTile + 4], b_tile[kDepth][kTile];
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  const int row0 = blockIdx.y * kTile, column0 = blockIdx.x * kTile;
  float sum[kEach][kEach] = {};
  for (int k0 = 0; k0 < n; k0 += kDepth) {
    for (int i = threadIdx.x; i < kTile * kDepth; i += 256) {
      a_tile[i % kDepth][i / kDepth] = a[(row0 + i / kDepth) * n + k0 + i % kDepth];
      b_tile[i / kTile][i % kTile] = b[(k0 + i / kTile) * n + column0 + i % kTile];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      float left[kEach], right[kEach];
#pragma unroll
      for (int i = 0; i < kEach; ++i) left[i] = a_tile[k][ty * kEach + i];
#pragma unroll
      for (int i = 0; i < kEach; ++i) right[i] = b_tile[k][tx * kEach + i];
#pragma unroll
      for (int i = 0; i < kEach; ++i)
#pragma unroll
        for (int j = 0; j < kEach; ++j) sum[i][j] += left[i] * right[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i)
#pragma unroll
    for (int j = 0; j < kEach; ++j) c[(row0 + ty * kEach + i) * n + column0 + tx * kEach + j] = sum[i][j];
}

__device__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ void copy_async(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}

__device__ void multiply_add(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// A 64 x 64 tile a block of 4 warps, each 32 x 32; kPad halves keep the rows of a tile in different banks,
// and kStages tiles of both factors are in flight.
template <int kPad, int kStages>
__global__ void on_tensor_cores(const __half* a, const __half* b, float* c, int n) {
  constexpr int kTile = 64, kDepth = 32;
  __shared__ __align__(16) __half a_tile[kStages][kTile][kDepth + kPad];
  __shared__ __align__(16) __half b_tile[kStages][kDepth][kTile + kPad];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row0 = blockIdx.y * kTile, column0 = blockIdx.x * kTile;
  const int warp_row = warp / 2 * 32, warp_column = warp % 2 * 32;
  auto fetch = [&](int stage, int k0) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int unit = threadIdx.x + i * 128;
      copy_async(&a_tile[stage][unit / 4][unit % 4 * 8],
                 a + static_cast<size_t>(row0 + unit / 4) * n + k0 + unit % 4 * 8);
      copy_async(&b_tile[stage][unit / 8][unit % 8 * 8],
                 b + static_cast<size_t>(k0 + unit / 8) * n + column0 + unit % 8 * 8);
    }
  };
  float sum[2][4][4] = {};
  const int steps = n / kDepth;
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) {
    fetch(s, s * kDepth);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  for (int step = 0; step < steps; ++step) {
    if (step + kStages - 1 < steps) fetch((step + kStages - 1) % kStages, (step + kStages - 1) * kDepth);
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 1) : "memory");
    __syncthreads();
    const int stage = step % kStages;
#pragma unroll
    for (int k = 0; k < kDepth; k += 16) {
      unsigned left[2][4], right[4][2];
#pragma unroll
      for (int i = 0; i < 2; ++i)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(left[i][0]), "=r"(left[i][1]), "=r"(left[i][2]), "=r"(left[i][3])
                     : "r"(shared_address(&a_tile[stage][warp_row + i * 16 + lane % 16][k + lane / 16 * 8]))
                     : "memory");
#pragma unroll
      for (int j = 0; j < 4; ++j)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                     : "=r"(right[j][0]), "=r"(right[j][1])
                     : "r"(shared_address(&b_tile[stage][k + lane % 16][warp_column + j * 8]))
                     : "memory");
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) multiply_add(sum[i][j], left[i], right[j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float* to = c + static_cast<size_t>(row0 + warp_row + i * 16 + lane / 4) * n + column0 + warp_column +
                  j * 8 + lane % 4 * 2;
      to[0] = sum[i][j][0];
      to[1] = sum[i][j][1];
      to[8 * n] = sum[i][j][2];
      to[8 * n + 1] = sum[i][j][3];
    }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<bench::Case> cases;
  for (int n : {256, 512}) {
    const size_t bytes = size_t{4} * n * n;
    const std::vector<bench::Buffer> buffers = {
        {bytes, bench::Fill::kFloats}, {bytes, bench::Fill::kFloats}, {bytes, bench::Fill::kZero}};
    const std::string size = "_" + std::to_string(n);
    auto add = [&](const char* name, auto kernel, unsigned tile, dim3 block) {
      cases.push_back({"matmul_fp32" + size, name + size, buffers, [=](const bench::Pointers& p) {
                         kernel<<<dim3(n / tile, n / tile), block>>>(static_cast<const float*>(p[0]),
                                                                     static_cast<const float*>(p[1]),
                                                                     static_cast<float*>(p[2]), n);
                       }});
    };
    add("matmul_naive", naive, 16, dim3(16, 16));
    add("matmul_naive_down_columns", naive_down_columns, 16, dim3(16, 16));
    add("matmul_tiled_16", tiled<16>, 16, dim3(16, 16));
    add("matmul_tiled_32", tiled<32>, 32, dim3(32, 32));
    add("matmul_registers_2x2", in_registers<2>, 32, dim3(256));
    add("matmul_registers_4x4", in_registers<4>, 64, dim3(256));
    add("matmul_registers_8x8", in_registers<8>, 128, dim3(256));
  }
  for (int n : {512, 1024}) {
    const size_t halves = size_t{2} * n * n;
    const std::vector<bench::Buffer> buffers = {
        {halves, bench::Fill::kHalves}, {halves, bench::Fill::kHalves}, {2 * halves, bench::Fill::kZero}};
    const std::string size = "_" + std::to_string(n);
    auto add = [&](const char* name, auto kernel) {
      cases.push_back({"matmul_fp16" + size, name + size, buffers, [=](const bench::Pointers& p) {
                         kernel<<<dim3(n / 64, n / 64), 128>>>(static_cast<const __half*>(p[0]),
                                                               static_cast<const __half*>(p[1]),
                                                               static_cast<float*>(p[2]), n);
                       }});
    };
    add("matmul_mma", on_tensor_cores<0, 1>);
    add("matmul_mma_padded", on_tensor_cores<8, 1>);
    add("matmul_mma_padded_two_stages", on_tensor_cores<8, 2>);
    add("matmul_mma_padded_three_stages", on_tensor_cores<8, 3>);
  }
  return bench::main_of(argc, argv, cases);
}
