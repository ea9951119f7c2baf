// Softmax and layer norm over rows of floats.
#include "bench.cuh"

namespace {

constexpr float kLog2E = 1.44269504f;

__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

__device__ float warp_max(float value) {
  for (int step = 16; step > 0; step /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, step));
  return value;
}

template <class Combine>
__device__ float block_combine(float value, float neutral, Combine combine) {
  __shared__ float parts[33];
  value = combine(value);
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x < 32) {
    value = combine(threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : neutral);
    if (threadIdx.x == 0) parts[32] = value;
  }
  __syncthreads();
  return parts[32];
}

__device__ float block_sum(float value) {
  return block_combine(value, 0.0f, [](float v) { return warp_sum(v); });
}

__device__ float block_max(float value) {
  return block_combine(value, -INFINITY, [](float v) { return warp_max(v); });
}

__global__ void softmax_three_passes(const float* from, float* to, int columns) {
  const float* row = from + size_t{blockIdx.x} * columns;
  float* out = to + size_t{blockIdx.x} * columns;
  float largest = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) largest = fmaxf(largest, row[i]);
  largest = block_max(largest);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += exp2f((row[i] - largest) * kLog2E);
  sum = block_sum(sum);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) out[i] = exp2f((row[i] - largest) * kLog2E) / sum;
}

__global__ void softmax_warp_per_row(const float* from, float* to, int columns) {
  const size_t at = size_t{blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32} * columns;
  const int lane = threadIdx.x % 32;
  float largest = -INFINITY, sum = 0;
  for (int i = lane; i < columns; i += 32) {
    const float value = from[at + i], higher = fmaxf(largest, value);
    sum = sum * exp2f((largest - higher) * kLog2E) + exp2f((value - higher) * kLog2E);
    largest = higher;
  }
  const float highest = warp_max(largest);
  sum = warp_sum(sum * exp2f((largest - highest) * kLog2E));
  for (int i = lane; i < columns; i += 32) to[at + i] = exp2f((from[at + i] - highest) * kLog2E) / sum;
}

// The row stays in registers: kColumns / 128 units of four floats a lane.
template <int kColumns>
__global__ void softmax_in_registers(const float4* __restrict__ from, float4* __restrict__ to, int) {
  constexpr int kUnits = kColumns / 128;
  const size_t at = size_t{blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32} * (kColumns / 4);
  const int lane = threadIdx.x % 32;
  float4 kept[kUnits];
  float largest = -INFINITY, sum = 0;
#pragma unroll
  for (int k = 0; k < kUnits; ++k) kept[k] = from[at + k * 32 + lane];
#pragma unroll
  for (int k = 0; k < kUnits; ++k)
    largest = fmaxf(largest, fmaxf(fmaxf(kept[k].x, kept[k].y), fmaxf(kept[k].z, kept[k].w)));
  largest = warp_max(largest);
#pragma unroll
  for (int k = 0; k < kUnits; ++k) {
    kept[k].x = exp2f((kept[k].x - largest) * kLog2E);
    kept[k].y = exp2f((kept[k].y - largest) * kLog2E);
    kept[k].z = exp2f((kept[k].z - largest) * kLog2E);
    kept[k].w = exp2f((kept[k].w - largest) * kLog2E);
    sum += (kept[k].x + kept[k].y) + (kept[k].z + kept[k].w);
  }
  const float scale = 1.0f / warp_sum(sum);
#pragma unroll
  for (int k = 0; k < kUnits; ++k)
    to[at + k * 32 + lane] =
        make_float4(kept[k].x * scale, kept[k].y * scale, kept[k].z * scale, kept[k].w * scale);
}

__global__ void layernorm_three_passes(const float* from, float* to, int columns) {
  const float* row = from + size_t{blockIdx.x} * columns;
  float* out = to + size_t{blockIdx.x} * columns;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += row[i];
  const float mean = block_sum(sum) / columns;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) squares += (row[i] - mean) * (row[i] - mean);
  const float scale = rsqrtf(block_sum(squares) / columns + 1e-5f);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) out[i] = (row[i] - mean) * scale;
}

__global__ void layernorm_two_passes(const float* from, float* to, int columns) {
  const float* row = from + size_t{blockIdx.x} * columns;
  float* out = to + size_t{blockIdx.x} * columns;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    sum += row[i];
    squares += row[i] * row[i];
  }
  const float mean = block_sum(sum) / columns;
  const float scale = rsqrtf(block_sum(squares) / columns - mean * mean + 1e-5f);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) out[i] = (row[i] - mean) * scale;
}

// One unit of four floats a thread: the row is read once.
__global__ void layernorm_one_pass(const float4* from, float4* to, int columns) {
  const size_t at = size_t{blockIdx.x} * (columns / 4) + threadIdx.x;
  const float4 x = from[at];
  const float mean = block_sum((x.x + x.y) + (x.z + x.w)) / columns;
  const float4 d = make_float4(x.x - mean, x.y - mean, x.z - mean, x.w - mean);
  const float scale = rsqrtf(block_sum((d.x * d.x + d.y * d.y) + (d.z * d.z + d.w * d.w)) / columns + 1e-5f);
  to[at] = make_float4(d.x * scale, d.y * scale, d.z * scale, d.w * scale);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<bench::Case> cases;
  constexpr int kColumns = 1024;
  for (int rows : {256, 4096}) {
    const size_t bytes = size_t{4} * rows * kColumns;
    const std::vector<bench::Buffer> buffers = {{bytes, bench::Fill::kFloats}, {bytes, bench::Fill::kZero}};
    const std::string size = "_" + std::to_string(rows);
    auto add = [&](const char* family, const char* name, auto kernel, unsigned grid, auto unit) {
      using Unit = decltype(unit);
      cases.push_back({family + size, name + size, buffers, [=](const bench::Pointers& p) {
                         kernel<<<grid, 256>>>(static_cast<const Unit*>(p[0]), static_cast<Unit*>(p[1]),
                                               kColumns);
                       }});
    };
    const unsigned all = static_cast<unsigned>(rows);
    add("softmax", "softmax_three_passes", softmax_three_passes, all, float{});
    add("softmax", "softmax_warp_per_row", softmax_warp_per_row, all / 8, float{});
    add("softmax", "softmax_in_registers", softmax_in_registers<kColumns>, all / 8, float4{});
    add("layernorm", "layernorm_three_passes", layernorm_three_passes, all, float{});
    add("layernorm", "layernorm_two_passes", layernorm_two_passes, all, float{});
    add("layernorm", "layernorm_one_pass", layernorm_one_pass, all, float4{});
  }
  return bench::main_of(argc, argv, cases);
}
