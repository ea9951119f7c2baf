// What a server does between its matrix products: rotated pairs, gated activations, norms with quantised
// results, rows gathered by token, and the largest logit of each request.
#include "bench.cuh"

namespace {

constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kHeadDim = 128;

__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(kAllLanes, value, step);
  return value;
}

__device__ float warp_max(float value) {
  for (int step = 16; step > 0; step /= 2) value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, step));
  return value;
}

template <bool kLargest>
__device__ float over_block(float value) {
  __shared__ float parts[32];
  const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
  value = kLargest ? warp_max(value) : warp_sum(value);
  __syncthreads();
  if (lane == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = lane < warps ? parts[lane] : (kLargest ? -INFINITY : 0.0f);
  return kLargest ? warp_max(value) : warp_sum(value);
}

// Element i of a head is rotated with element i + 64, by an angle that depends on the token and on i.
__global__ void rotate_with_sincos(__half* heads, int tokens, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int pair = i % (kHeadDim / 2), head = i / (kHeadDim / 2) % count, token = i / (kHeadDim / 2) / count;
  if (token >= tokens) return;
  float sine, cosine;
  sincosf(token * exp2f(-13.2877f * pair / (kHeadDim / 2)), &sine, &cosine);
  __half* at = heads + (static_cast<int64_t>(token) * count + head) * kHeadDim + pair;
  const float a = __half2float(at[0]), b = __half2float(at[kHeadDim / 2]);
  at[0] = __float2half(a * cosine - b * sine);
  at[kHeadDim / 2] = __float2half(b * cosine + a * sine);
}

__global__ void rotate_with_table(__half* heads, const float2* table, int tokens, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int pair = i % (kHeadDim / 2), head = i / (kHeadDim / 2) % count, token = i / (kHeadDim / 2) / count;
  if (token >= tokens) return;
  const float2 turn = table[token * (kHeadDim / 2) + pair];
  __half* at = heads + (static_cast<int64_t>(token) * count + head) * kHeadDim + pair;
  const float a = __half2float(at[0]), b = __half2float(at[kHeadDim / 2]);
  at[0] = __float2half(a * turn.x - b * turn.y);
  at[kHeadDim / 2] = __float2half(b * turn.x + a * turn.y);
}

// A block takes a token: its angles are read once, and eight elements at a time.
__global__ void rotate_wide(__half* heads, const float2* table, int count) {
  __shared__ float2 turns[kHeadDim / 2];
  const int token = blockIdx.x;
  if (threadIdx.x < kHeadDim / 2) turns[threadIdx.x] = table[token * (kHeadDim / 2) + threadIdx.x];
  __syncthreads();
  for (int unit = threadIdx.x; unit < count * 8; unit += blockDim.x) {
    auto* at = reinterpret_cast<uint4*>(heads + (static_cast<int64_t>(token) * count + unit / 8) * kHeadDim) +
               unit % 8;
    uint4 low = at[0], high = at[8];
    auto* a = reinterpret_cast<__half*>(&low);
    auto* b = reinterpret_cast<__half*>(&high);
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const float2 turn = turns[unit % 8 * 8 + k];
      const float x = __half2float(a[k]), y = __half2float(b[k]);
      a[k] = __float2half(x * turn.x - y * turn.y);
      b[k] = __float2half(y * turn.x + x * turn.y);
    }
    at[0] = low;
    at[8] = high;
  }
}

__device__ float gate(float x) {
  return x / (1.0f + __expf(-x));
}

__global__ void gated_one(const __half* both, __half* to, int rows, int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * columns) return;
  const __half* row = both + static_cast<int64_t>(i / columns) * columns * 2;
  to[i] = __float2half(gate(__half2float(row[i % columns])) * __half2float(row[columns + i % columns]));
}

__global__ void gated_two(const __half2* both, __half2* to, int rows, int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * columns) return;
  const __half2* row = both + static_cast<int64_t>(i / columns) * columns * 2;
  const float2 x = __half22float2(row[i % columns]), y = __half22float2(row[columns + i % columns]);
  to[i] = __floats2half2_rn(gate(x.x) * y.x, gate(x.y) * y.y);
}

__global__ void gated_eight(const uint4* both, uint4* to, int columns) {
  const uint4* row = both + static_cast<int64_t>(blockIdx.y) * columns * 2;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < columns; i += gridDim.x * blockDim.x) {
    uint4 first = row[i], second = row[columns + i];
    auto* x = reinterpret_cast<__half2*>(&first);
    const auto* y = reinterpret_cast<const __half2*>(&second);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float2 a = __half22float2(x[k]), b = __half22float2(y[k]);
      x[k] = __floats2half2_rn(gate(a.x) * b.x, gate(a.y) * b.y);
    }
    to[static_cast<int64_t>(blockIdx.y) * columns + i] = first;
  }
}

// RMS norm, then 8 bits with one scale per row.
__global__ void norm_in_three_passes(const __half* from, const __half* weights, int8_t* to, float* scales,
                                     int columns) {
  const __half* row = from + static_cast<int64_t>(blockIdx.x) * columns;
  float squares = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    const float x = __half2float(row[i]);
    squares += x * x;
  }
  const float factor = rsqrtf(over_block<false>(squares) / columns + 1e-5f);
  float largest = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    largest = fmaxf(largest, fabsf(__half2float(row[i]) * factor * __half2float(weights[i])));
  const float scale = over_block<true>(largest) / 127.0f;
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    to[static_cast<int64_t>(blockIdx.x) * columns + i] =
        static_cast<int8_t>(__float2int_rn(__half2float(row[i]) * factor * __half2float(weights[i]) / scale));
  if (threadIdx.x == 0) scales[blockIdx.x] = scale;
}

// The row stays in registers: eight elements per thread and unit.
template <int kUnits>
__global__ void norm_in_registers(const uint4* from, const uint4* weights, uint2* to, float* scales,
                                  int units) {
  const uint4* row = from + static_cast<int64_t>(blockIdx.x) * units;
  float values[kUnits][8], squares = 0;
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    const uint4 read = row[u * blockDim.x + threadIdx.x];
    const auto* halves = reinterpret_cast<const __half*>(&read);
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      values[u][k] = __half2float(halves[k]);
      squares += values[u][k] * values[u][k];
    }
  }
  const float factor = rsqrtf(over_block<false>(squares) / (units * 8) + 1e-5f);
  float largest = 0;
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    const uint4 read = weights[u * blockDim.x + threadIdx.x];
    const auto* halves = reinterpret_cast<const __half*>(&read);
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      values[u][k] *= factor * __half2float(halves[k]);
      largest = fmaxf(largest, fabsf(values[u][k]));
    }
  }
  const float scale = over_block<true>(largest) / 127.0f, inverse = 1.0f / scale;
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    int8_t packed[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) packed[k] = static_cast<int8_t>(__float2int_rn(values[u][k] * inverse));
    to[static_cast<int64_t>(blockIdx.x) * units + u * blockDim.x + threadIdx.x] =
        *reinterpret_cast<const uint2*>(packed);
  }
  if (threadIdx.x == 0) scales[blockIdx.x] = scale;
}

__global__ void norm_by_warps(const __half* from, const __half* weights, int8_t* to, float* scales,
                              int columns) {
  const int64_t row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const __half* at = from + row * columns;
  float squares = 0, largest = 0;
  for (int i = lane; i < columns; i += 32) {
    const float x = __half2float(at[i]);
    squares += x * x;
    largest = fmaxf(largest, fabsf(x * __half2float(weights[i])));
  }
  const float factor = rsqrtf(warp_sum(squares) / columns + 1e-5f),
              scale = warp_max(largest) * factor / 127.0f;
  for (int i = lane; i < columns; i += 32)
    to[row * columns + i] =
        static_cast<int8_t>(__float2int_rn(__half2float(at[i]) * factor * __half2float(weights[i]) / scale));
  if (lane == 0) scales[row] = scale;
}

__global__ void gather_one(const __half* table, const int* tokens, __half* to, int count, int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count * columns) to[i] = table[static_cast<int64_t>(tokens[i / columns]) * columns + i % columns];
}

__global__ void gather_by_warps(const uint4* table, const int* tokens, uint4* to, int units) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const uint4* from = table + static_cast<int64_t>(tokens[row]) * units;
  for (int i = threadIdx.x % 32; i < units; i += 32) to[static_cast<int64_t>(row) * units + i] = from[i];
}

__global__ void gather_by_blocks(const uint4* table, const int* tokens, uint4* to, int units) {
  const uint4* from = table + static_cast<int64_t>(tokens[blockIdx.x]) * units;
  for (int i = threadIdx.x; i < units; i += blockDim.x)
    to[static_cast<int64_t>(blockIdx.x) * units + i] = from[i];
}

struct Best {
  float value;
  int place;
};

__device__ Best better(Best a, Best b) {
  return b.value > a.value || (b.value == a.value && b.place < a.place) ? b : a;
}

__device__ Best best_of_block(Best best) {
  __shared__ Best parts[32];
  for (int step = 16; step > 0; step /= 2)
    best = better(
        best, {__shfl_xor_sync(kAllLanes, best.value, step), __shfl_xor_sync(kAllLanes, best.place, step)});
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = best;
  __syncthreads();
  best = threadIdx.x % 32 < blockDim.x / 32 ? parts[threadIdx.x % 32] : Best{-INFINITY, 0};
  for (int step = 16; step > 0; step /= 2)
    best = better(
        best, {__shfl_xor_sync(kAllLanes, best.value, step), __shfl_xor_sync(kAllLanes, best.place, step)});
  return best;
}

__global__ void argmax_one_block(const float* logits, int* to, int columns) {
  const float* row = logits + static_cast<int64_t>(blockIdx.x) * columns;
  Best best{-INFINITY, 0};
  for (int i = threadIdx.x; i < columns; i += blockDim.x) best = better(best, {row[i], i});
  best = best_of_block(best);
  if (threadIdx.x == 0) to[blockIdx.x] = best.place;
}

__global__ void argmax_wide(const float4* logits, int* to, int units) {
  const float4* row = logits + static_cast<int64_t>(blockIdx.x) * units;
  Best best{-INFINITY, 0};
  for (int i = threadIdx.x; i < units; i += blockDim.x) {
    const float4 four = row[i];
    best = better(best, {four.x, i * 4});
    best = better(best, {four.y, i * 4 + 1});
    best = better(best, {four.z, i * 4 + 2});
    best = better(best, {four.w, i * 4 + 3});
  }
  best = best_of_block(best);
  if (threadIdx.x == 0) to[blockIdx.x] = best.place;
}

__global__ void argmax_parts(const float* logits, Best* parts, int columns) {
  const float* row = logits + static_cast<int64_t>(blockIdx.y) * columns;
  Best best{-INFINITY, 0};
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < columns; i += gridDim.x * blockDim.x)
    best = better(best, {row[i], i});
  best = best_of_block(best);
  if (threadIdx.x == 0) parts[blockIdx.y * gridDim.x + blockIdx.x] = best;
}

__global__ void argmax_of_parts(const Best* parts, int* to, int count) {
  Best best{-INFINITY, 0};
  for (int i = threadIdx.x; i < count; i += 32) best = better(best, parts[blockIdx.x * count + i]);
  for (int step = 16; step > 0; step /= 2)
    best = better(
        best, {__shfl_xor_sync(kAllLanes, best.value, step), __shfl_xor_sync(kAllLanes, best.place, step)});
  if (threadIdx.x == 0) to[blockIdx.x] = best.place;
}

template <typename T>
T* as(void* pointer) {
  return static_cast<T*>(pointer);
}

}  // namespace

int main(int argc, char** argv) {
  using bench::Fill;
  using bench::Pointers;
  std::vector<bench::Case> cases;
  for (int tokens : {16, 2048}) {
    const int heads = 8;
    const std::string family = "rotate_" + std::to_string(tokens);
    const size_t bytes = size_t{2} * tokens * heads * kHeadDim,
                 pairs = size_t{1} * tokens * heads * kHeadDim / 2;
    const std::vector<bench::Buffer> buffers{{bytes, Fill::kHalves},
                                             {size_t{4} * tokens * kHeadDim, Fill::kFloats}};
    cases.push_back({family, family + "_sincos", buffers, [=](const Pointers& p) {
                       rotate_with_sincos<<<bench::blocks_for(pairs, 256), 256>>>(as<__half>(p[0]), tokens,
                                                                                  heads);
                     }});
    cases.push_back({family, family + "_table", buffers, [=](const Pointers& p) {
                       rotate_with_table<<<bench::blocks_for(pairs, 256), 256>>>(
                           as<__half>(p[0]), as<const float2>(p[1]), tokens, heads);
                     }});
    cases.push_back({family, family + "_wide", buffers, [=](const Pointers& p) {
                       rotate_wide<<<tokens, 64>>>(as<__half>(p[0]), as<const float2>(p[1]), heads);
                     }});
  }
  for (int rows : {8, 512}) {
    const int columns = 4096;
    const std::string family = "gated_" + std::to_string(rows);
    const size_t count = size_t{1} * rows * columns;
    const std::vector<bench::Buffer> buffers{{count * 4, Fill::kHalves}, {count * 2, Fill::kZero}};
    cases.push_back({family, family + "_one", buffers, [=](const Pointers& p) {
                       gated_one<<<bench::blocks_for(count, 256), 256>>>(as<const __half>(p[0]),
                                                                         as<__half>(p[1]), rows, columns);
                     }});
    cases.push_back({family, family + "_two", buffers, [=](const Pointers& p) {
                       gated_two<<<bench::blocks_for(count / 2, 256), 256>>>(
                           as<const __half2>(p[0]), as<__half2>(p[1]), rows, columns / 2);
                     }});
    cases.push_back({family, family + "_eight", buffers, [=](const Pointers& p) {
                       gated_eight<<<dim3(2, rows), 256>>>(as<const uint4>(p[0]), as<uint4>(p[1]),
                                                           columns / 8);
                     }});
  }
  for (int rows : {16, 1024}) {
    const int columns = 4096;
    const std::string family = "norm_to_bytes_" + std::to_string(rows);
    const size_t count = size_t{1} * rows * columns;
    const std::vector<bench::Buffer> buffers{{count * 2, Fill::kHalves},
                                             {size_t{2} * columns, Fill::kHalves},
                                             {count, Fill::kZero},
                                             {size_t{4} * rows, Fill::kZero}};
    cases.push_back({family, family + "_three_passes", buffers, [=](const Pointers& p) {
                       norm_in_three_passes<<<rows, 256>>>(as<const __half>(p[0]), as<const __half>(p[1]),
                                                           as<int8_t>(p[2]), as<float>(p[3]), columns);
                     }});
    cases.push_back({family, family + "_registers", buffers, [=](const Pointers& p) {
                       norm_in_registers<2><<<rows, 256>>>(as<const uint4>(p[0]), as<const uint4>(p[1]),
                                                           as<uint2>(p[2]), as<float>(p[3]), columns / 8);
                     }});
    cases.push_back({family, family + "_registers_512", buffers, [=](const Pointers& p) {
                       norm_in_registers<1><<<rows, 512>>>(as<const uint4>(p[0]), as<const uint4>(p[1]),
                                                           as<uint2>(p[2]), as<float>(p[3]), columns / 8);
                     }});
    cases.push_back({family, family + "_warps", buffers, [=](const Pointers& p) {
                       norm_by_warps<<<rows / 4, 128>>>(as<const __half>(p[0]), as<const __half>(p[1]),
                                                        as<int8_t>(p[2]), as<float>(p[3]), columns);
                     }});
  }
  for (int count : {64, 2048}) {
    const int columns = 1024, vocabulary = 8192;
    const std::string family = "gather_" + std::to_string(count);
    const std::vector<bench::Buffer> buffers{{size_t{2} * vocabulary * columns, Fill::kHalves},
                                             {size_t{4} * vocabulary, Fill::kShuffled},
                                             {size_t{2} * count * columns, Fill::kZero}};
    cases.push_back({family, family + "_one", buffers, [=](const Pointers& p) {
                       gather_one<<<bench::blocks_for(size_t{1} * count * columns, 256), 256>>>(
                           as<const __half>(p[0]), as<const int>(p[1]), as<__half>(p[2]), count, columns);
                     }});
    cases.push_back({family, family + "_warps", buffers, [=](const Pointers& p) {
                       gather_by_warps<<<count / 4, 128>>>(as<const uint4>(p[0]), as<const int>(p[1]),
                                                           as<uint4>(p[2]), columns / 8);
                     }});
    cases.push_back({family, family + "_blocks", buffers, [=](const Pointers& p) {
                       gather_by_blocks<<<count, 128>>>(as<const uint4>(p[0]), as<const int>(p[1]),
                                                        as<uint4>(p[2]), columns / 8);
                     }});
  }
  for (int rows : {1, 64}) {
    const int columns = 32000, shares = 16;
    const std::string family = "argmax_" + std::to_string(rows);
    const std::vector<bench::Buffer> buffers{{size_t{4} * rows * columns, Fill::kFloats},
                                             {size_t{4} * rows, Fill::kZero},
                                             {sizeof(Best) * rows * shares, Fill::kZero}};
    cases.push_back({family, family + "_block", buffers, [=](const Pointers& p) {
                       argmax_one_block<<<rows, 512>>>(as<const float>(p[0]), as<int>(p[1]), columns);
                     }});
    cases.push_back({family, family + "_wide", buffers, [=](const Pointers& p) {
                       argmax_wide<<<rows, 1024>>>(as<const float4>(p[0]), as<int>(p[1]), columns / 4);
                     }});
    cases.push_back({family, family + "_shared_out", buffers, [=](const Pointers& p) {
                       argmax_parts<<<dim3(shares, rows), 256>>>(as<const float>(p[0]), as<Best>(p[2]),
                                                                 columns);
                       argmax_of_parts<<<rows, 32>>>(as<const Best>(p[2]), as<int>(p[1]), shares);
                     }});
  }
  return bench::main_of(argc, argv, cases);
}
