// Small products of matrices: in batches, of a matrix by itself, of halves over a long depth, in attention,
// and as a layer with a bias.
#include <mma.h>

#include "bench.cuh"

namespace {

constexpr unsigned kAllLanes = 0xffffffffu;

__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(kAllLanes, value, step);
  return value;
}

// A batch of products of 32 x 32 floats; a block or a warp has one.
constexpr int kSmall = 32, kSmallSize = kSmall * kSmall;

__global__ void batch_naive(const float* a, const float* b, float* c) {
  const int first = blockIdx.x * kSmallSize, row = threadIdx.y, column = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < kSmall; ++k) sum += a[first + row * kSmall + k] * b[first + k * kSmall + column];
  c[first + row * kSmall + column] = sum;
}

__global__ void batch_shared(const float* a, const float* b, float* c) {
  __shared__ float a_tile[kSmall][kSmall], b_tile[kSmall][kSmall];
  const int row = threadIdx.y, column = threadIdx.x;
  const int i = blockIdx.x * kSmallSize + row * kSmall + column;
  a_tile[row][column] = a[i];
  b_tile[row][column] = b[i];
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kSmall; ++k) sum += a_tile[row][k] * b_tile[k][column];
  c[i] = sum;
}

// A lane keeps a column of B in registers, and gets the elements of A from the lanes of its warp.
__global__ void batch_registers(const float* a, const float* b, float* c, int count) {
  const int matrix = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (matrix >= count) return;
  const int first = matrix * kSmallSize;
  float column[kSmall];
#pragma unroll
  for (int k = 0; k < kSmall; ++k) column[k] = b[first + k * kSmall + lane];
  for (int row = 0; row < kSmall; ++row) {
    const float mine = a[first + row * kSmall + lane];
    float sum = 0;
#pragma unroll
    for (int k = 0; k < kSmall; ++k) sum += __shfl_sync(kAllLanes, mine, k) * column[k];
    c[first + row * kSmall + lane] = sum;
  }
}

// C = A A' for a square A.
__global__ void square_naive(const float* a, float* c, int n) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * a[column * n + k];
  c[row * n + column] = sum;
}

// The tile of C at (row0, column0), for a block of 16 x 16 threads: this thread's element of it.
__device__ float square_tile(const float* a, int n, int row0, int column0) {
  __shared__ float left[16][17], right[16][17];
  const int tx = threadIdx.x, ty = threadIdx.y;
  float sum = 0;
  for (int k0 = 0; k0 < n; k0 += 16) {
    left[ty][tx] = a[(row0 + ty) * n + k0 + tx];
    right[ty][tx] = a[(column0 + ty) * n + k0 + tx];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k) sum += left[ty][k] * right[tx][k];
    __syncthreads();
  }
  return sum;
}

__global__ void square_tiled(const float* a, float* c, int n) {
  const int row0 = blockIdx.y * 16, column0 = blockIdx.x * 16;
  c[(row0 + threadIdx.y) * n + column0 + threadIdx.x] = square_tile(a, n, row0, column0);
}

// C is symmetric: only blocks on and above the diagonal work, and store what they found twice.
__global__ void square_mirrored(const float* a, float* c, int n) {
  if (blockIdx.x < blockIdx.y) return;
  const int row0 = blockIdx.y * 16, column0 = blockIdx.x * 16;
  const int row = row0 + threadIdx.y, column = column0 + threadIdx.x;
  const float sum = square_tile(a, n, row0, column0);
  c[row * n + column] = sum;
  if (row0 != column0) c[column * n + row] = sum;
}

// C = A B' for halves, A of 256 rows and B of 256 rows, both of 1024 columns.
constexpr int kSide = 256, kDepth = 1024;

namespace wmma = nvcuda::wmma;
using LeftFragment = wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major>;
using RightFragment = wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major>;
using SumFragment = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

__device__ void multiply_tile(SumFragment& sum, const __half* a, const __half* b, int depth) {
  LeftFragment left;
  RightFragment right;
  wmma::fill_fragment(sum, 0.0f);
  for (int k = 0; k < depth; k += 16) {
    wmma::load_matrix_sync(left, a + k, kDepth);
    wmma::load_matrix_sync(right, b + k, kDepth);
    wmma::mma_sync(sum, left, right, sum);
  }
}

// A warp has a tile of 16 x 16; blocks of one warp, or of four side by side.
__global__ void deep_tile_per_warp(const __half* a, const __half* b, float* c) {
  const int row = blockIdx.y * 16, column = (blockIdx.x * blockDim.y + threadIdx.y) * 16;
  SumFragment sum;
  multiply_tile(sum, a + row * kDepth, b + column * kDepth, kDepth);
  wmma::store_matrix_sync(c + row * kSide + column, sum, kSide, wmma::mem_row_major);
}

// Four warps share a tile: each has a quarter of the depth.
__global__ void deep_split_depth(const __half* a, const __half* b, float* c) {
  __shared__ __align__(32) float parts[4][256];
  const int row = blockIdx.y * 16, column = blockIdx.x * 16, first = threadIdx.y * (kDepth / 4);
  SumFragment sum;
  multiply_tile(sum, a + row * kDepth + first, b + column * kDepth + first, kDepth / 4);
  wmma::store_matrix_sync(parts[threadIdx.y], sum, 16, wmma::mem_row_major);
  __syncthreads();
  for (int i = threadIdx.y * 32 + threadIdx.x; i < 256; i += 128)
    c[(row + i / 16) * kSide + column + i % 16] = parts[0][i] + parts[1][i] + parts[2][i] + parts[3][i];
}

__device__ unsigned pair_at(const __half* at) {
  return *reinterpret_cast<const unsigned*>(at);
}

// As deep_tile_per_warp with one warp, a tile of 16 x 8 and the instruction itself.
__global__ void deep_mma(const __half* a, const __half* b, float* c) {
  const int group = threadIdx.x / 4, pair = threadIdx.x % 4 * 2;
  const int row = blockIdx.y * 16 + group, column = blockIdx.x * 8;
  const __half *upper = a + row * kDepth + pair, *lower = upper + 8 * kDepth;
  const __half* right = b + (column + group) * kDepth + pair;
  float sum[4] = {};
#pragma unroll 4
  for (int k = 0; k < kDepth; k += 16)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(pair_at(upper + k)), "r"(pair_at(lower + k)), "r"(pair_at(upper + k + 8)),
          "r"(pair_at(lower + k + 8)), "r"(pair_at(right + k)), "r"(pair_at(right + k + 8)));
  *reinterpret_cast<float2*>(c + row * kSide + column + pair) = make_float2(sum[0], sum[1]);
  *reinterpret_cast<float2*>(c + (row + 8) * kSide + column + pair) = make_float2(sum[2], sum[3]);
}

// out = softmax(q k' / 8) v for one head: 256 queries and as many keys, of 64 floats.
constexpr int kTokens = 256, kDim = 64;
constexpr float kScale = 0.125f;

// One query's sum over the keys seen so far.
struct Attended {
  float sum[kDim] = {}, largest = -INFINITY, weight = 0;

  __device__ void add(const float (&query)[kDim], const float* key, const float* value) {
    float score = 0;
#pragma unroll
    for (int d = 0; d < kDim; ++d) score += query[d] * key[d];
    const float higher = fmaxf(largest, score * kScale);
    const float keep = __expf(largest - higher), p = __expf(score * kScale - higher);
    largest = higher;
    weight = weight * keep + p;
#pragma unroll
    for (int d = 0; d < kDim; ++d) sum[d] = sum[d] * keep + p * value[d];
  }
};

__global__ void prefill_thread_per_query(const float* q, const float* k, const float* v, float* out) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  float query[kDim];
  Attended attended;
#pragma unroll
  for (int d = 0; d < kDim; ++d) query[d] = q[row * kDim + d];
  for (int j = 0; j < kTokens; ++j) attended.add(query, k + j * kDim, v + j * kDim);
#pragma unroll
  for (int d = 0; d < kDim; ++d) out[row * kDim + d] = attended.sum[d] / attended.weight;
}

// As above, with 32 keys and values at a time in shared memory.
__global__ void prefill_tiles(const float* q, const float* k, const float* v, float* out) {
  constexpr int kTile = 32;
  __shared__ __align__(16) float k_tile[kTile][kDim], v_tile[kTile][kDim];
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  float query[kDim];
  Attended attended;
#pragma unroll
  for (int d = 0; d < kDim; ++d) query[d] = q[row * kDim + d];
  for (int first = 0; first < kTokens; first += kTile) {
    for (int i = threadIdx.x; i < kTile * kDim; i += blockDim.x) {
      k_tile[i / kDim][i % kDim] = k[first * kDim + i];
      v_tile[i / kDim][i % kDim] = v[first * kDim + i];
    }
    __syncthreads();
    for (int j = 0; j < kTile; ++j) attended.add(query, k_tile[j], v_tile[j]);
    __syncthreads();
  }
#pragma unroll
  for (int d = 0; d < kDim; ++d) out[row * kDim + d] = attended.sum[d] / attended.weight;
}

// A lane has two dimensions; every key costs the warp a sum by shuffles.
__global__ void prefill_warp_per_query(const float* q, const float* k, const float* v, float* out) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  const auto *keys = reinterpret_cast<const float2*>(k), *values = reinterpret_cast<const float2*>(v);
  const float2 query = reinterpret_cast<const float2*>(q)[row * 32 + lane];
  float2 sum = {0, 0};
  float largest = -INFINITY, weight = 0;
  for (int j = 0; j < kTokens; ++j) {
    const float2 key = keys[j * 32 + lane], value = values[j * 32 + lane];
    const float score = warp_sum(query.x * key.x + query.y * key.y) * kScale;
    const float higher = fmaxf(largest, score);
    const float keep = __expf(largest - higher), p = __expf(score - higher);
    largest = higher;
    weight = weight * keep + p;
    sum.x = sum.x * keep + p * value.x;
    sum.y = sum.y * keep + p * value.y;
  }
  reinterpret_cast<float2*>(out)[row * 32 + lane] = make_float2(sum.x / weight, sum.y / weight);
}

// y = relu(W x + b), a warp to a row of W.
template <bool kFused>
__global__ void layer_product(const float4* w, const float4* x, const float* bias, float* y, int columns) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  const float4* weights = w + row * (columns / 4);
  float sum = 0;
  for (int i = lane; i < columns / 4; i += 32) {
    const float4 left = weights[i], right = x[i];
    sum += left.x * right.x + left.y * right.y + left.z * right.z + left.w * right.w;
  }
  sum = warp_sum(sum);
  if (lane == 0) y[row] = kFused ? fmaxf(sum + bias[row], 0.0f) : sum;
}

__global__ void add_bias(float* y, const float* bias) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] += bias[i];
}

__global__ void relu(float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = fmaxf(y[i], 0.0f);
}

__global__ void add_bias_and_relu(float* y, const float* bias) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = fmaxf(y[i] + bias[i], 0.0f);
}

using Cases = std::vector<bench::Case>;
using bench::Pointers;

const float* floats(const Pointers& p, int i) {
  return static_cast<const float*>(p[i]);
}

void add_batches(Cases& cases) {
  constexpr int kCount = 512;
  constexpr size_t kBytes = size_t{4} * kCount * kSmallSize;
  const std::vector<bench::Buffer> buffers = {
      {kBytes, bench::Fill::kFloats}, {kBytes, bench::Fill::kFloats}, {kBytes, bench::Fill::kZero}};
  auto add = [&](const char* name, auto kernel) {
    cases.push_back({"batch_of_products", name, buffers, [=](const Pointers& p) {
                       kernel<<<kCount, dim3(kSmall, kSmall)>>>(floats(p, 0), floats(p, 1),
                                                                static_cast<float*>(p[2]));
                     }});
  };
  add("batch_naive", batch_naive);
  add("batch_shared", batch_shared);
  cases.push_back({"batch_of_products", "batch_registers", buffers, [](const Pointers& p) {
                     batch_registers<<<kCount / 4, 128>>>(floats(p, 0), floats(p, 1),
                                                          static_cast<float*>(p[2]), kCount);
                   }});
}

void add_squares(Cases& cases) {
  constexpr int kWidth = 256;
  constexpr size_t kBytes = size_t{4} * kWidth * kWidth;
  const std::vector<bench::Buffer> buffers = {{kBytes, bench::Fill::kFloats}, {kBytes, bench::Fill::kZero}};
  auto add = [&](const char* name, auto kernel) {
    cases.push_back({"product_by_itself", name, buffers, [=](const Pointers& p) {
                       kernel<<<dim3(kWidth / 16, kWidth / 16), dim3(16, 16)>>>(
                           floats(p, 0), static_cast<float*>(p[1]), kWidth);
                     }});
  };
  add("square_naive", square_naive);
  add("square_tiled", square_tiled);
  add("square_mirrored", square_mirrored);
}

void add_deep(Cases& cases) {
  const std::vector<bench::Buffer> buffers = {{size_t{2} * kSide * kDepth, bench::Fill::kHalves},
                                              {size_t{2} * kSide * kDepth, bench::Fill::kHalves},
                                              {size_t{4} * kSide * kSide, bench::Fill::kZero}};
  auto add = [&](const char* name, auto kernel, unsigned columns, unsigned warps) {
    cases.push_back({"deep_products", name, buffers, [=](const Pointers& p) {
                       kernel<<<dim3(kSide / columns, kSide / 16), dim3(32, warps)>>>(
                           static_cast<const __half*>(p[0]), static_cast<const __half*>(p[1]),
                           static_cast<float*>(p[2]));
                     }});
  };
  add("deep_one_warp", deep_tile_per_warp, 16, 1);
  add("deep_four_warps", deep_tile_per_warp, 64, 4);
  add("deep_split_depth", deep_split_depth, 16, 4);
  add("deep_mma", deep_mma, 8, 1);
}

void add_prefill(Cases& cases) {
  constexpr size_t kBytes = size_t{4} * kTokens * kDim;
  std::vector<bench::Buffer> buffers(3, {kBytes, bench::Fill::kFloats});
  buffers.push_back({kBytes, bench::Fill::kZero});
  auto add = [&](const char* name, auto kernel, unsigned queries, unsigned block) {
    cases.push_back({"prefill_one_head", name, buffers, [=](const Pointers& p) {
                       kernel<<<kTokens / queries, block>>>(floats(p, 0), floats(p, 1), floats(p, 2),
                                                            static_cast<float*>(p[3]));
                     }});
  };
  add("prefill_thread_per_query", prefill_thread_per_query, 32, 32);
  add("prefill_tiles", prefill_tiles, 64, 64);
  add("prefill_warp_per_query", prefill_warp_per_query, 4, 128);
}

void add_layers(Cases& cases) {
  constexpr int kRows = 2048, kColumns = 1024;
  const std::vector<bench::Buffer> buffers = {{size_t{4} * kRows * kColumns, bench::Fill::kFloats},
                                              {size_t{4} * kColumns, bench::Fill::kFloats},
                                              {size_t{4} * kRows, bench::Fill::kFloats},
                                              {size_t{4} * kRows, bench::Fill::kZero}};
  const auto product = [](auto kernel, const Pointers& p) {
    kernel<<<kRows / 8, 256>>>(static_cast<const float4*>(p[0]), static_cast<const float4*>(p[1]),
                               floats(p, 2), static_cast<float*>(p[3]), kColumns);
  };
  cases.push_back(
      {"layers", "layer_one_launch", buffers, [=](const Pointers& p) { product(layer_product<true>, p); }});
  cases.push_back({"layers", "layer_two_launches", buffers, [=](const Pointers& p) {
                     product(layer_product<false>, p);
                     add_bias_and_relu<<<kRows / 256, 256>>>(static_cast<float*>(p[3]), floats(p, 2));
                   }});
  cases.push_back({"layers", "layer_three_launches", buffers, [=](const Pointers& p) {
                     product(layer_product<false>, p);
                     add_bias<<<kRows / 256, 256>>>(static_cast<float*>(p[3]), floats(p, 2));
                     relu<<<kRows / 256, 256>>>(static_cast<float*>(p[3]));
                   }});
}

}  // namespace

int main(int argc, char** argv) {
  Cases cases;
  add_batches(cases);
  add_squares(cases);
  add_deep(cases);
  add_prefill(cases);
  add_layers(cases);
  return bench::main_of(argc, argv, cases);
}
