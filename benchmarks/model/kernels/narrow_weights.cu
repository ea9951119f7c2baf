// Products with weights of 8 and 4 bits for one token or a few, and a product of halves on the tensor cores
// with tiles of several sizes.
#include <mma.h>

#include "bench.cuh"

namespace {

constexpr unsigned kAllLanes = 0xffffffffu;

__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(kAllLanes, value, step);
  return value;
}

// A thread takes an output: neighbours read rows that lie far apart.
__global__ void bytes_by_threads(const int8_t* weights, const float* scales, const __half* x, float* to,
                                 int rows, int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int i = 0; i < columns; ++i)
    sum += weights[static_cast<int64_t>(row) * columns + i] * __half2float(x[i]);
  to[row] = sum * scales[row];
}

__global__ void bytes_by_warps(const int8_t* weights, const float* scales, const __half* x, float* to,
                               int columns) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  float sum = 0;
  for (int i = threadIdx.x % 32; i < columns; i += 32)
    sum += weights[static_cast<int64_t>(row) * columns + i] * __half2float(x[i]);
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) to[row] = sum * scales[row];
}

__global__ void bytes_by_warps_wide(const uint4* weights, const float* scales, const __half2* x, float* to,
                                    int units) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  float sum = 0;
  for (int i = threadIdx.x % 32; i < units; i += 32) {
    const uint4 read = weights[static_cast<int64_t>(row) * units + i];
    const auto* bytes = reinterpret_cast<const int8_t*>(&read);
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const float2 two = __half22float2(x[i * 8 + k]);
      sum += bytes[2 * k] * two.x + bytes[2 * k + 1] * two.y;
    }
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) to[row] = sum * scales[row];
}

// The vector is in shared memory, and a block takes several rows.
__global__ void bytes_with_shared_x(const uint4* weights, const float* scales, const __half* x, float* to,
                                    int units) {
  extern __shared__ float widened[];
  for (int i = threadIdx.x; i < units * 16; i += blockDim.x) widened[i] = __half2float(x[i]);
  __syncthreads();
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  float sum = 0;
  for (int i = threadIdx.x % 32; i < units; i += 32) {
    const uint4 read = weights[static_cast<int64_t>(row) * units + i];
    const auto* bytes = reinterpret_cast<const int8_t*>(&read);
#pragma unroll
    for (int k = 0; k < 16; ++k) sum += bytes[k] * widened[i * 16 + k];
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) to[row] = sum * scales[row];
}

__device__ float dot_of_nibbles(unsigned packed, const __half* x) {
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k) sum += (static_cast<int>(packed >> (4 * k) & 15u) - 8) * __half2float(x[k]);
  return sum;
}

// Two elements per byte, one scale for 64 of them.
__global__ void nibbles_by_warps(const unsigned* weights, const __half* scales, const __half* x, float* to,
                                 int columns) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, words = columns / 8;
  float sum = 0;
  for (int i = threadIdx.x % 32; i < words; i += 32)
    sum += dot_of_nibbles(weights[static_cast<int64_t>(row) * words + i], x + i * 8) *
           __half2float(scales[static_cast<int64_t>(row) * (columns / 64) + i / 8]);
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) to[row] = sum;
}

__global__ void nibbles_by_warps_wide(const uint4* weights, const __half* scales, const __half* x, float* to,
                                      int columns) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, units = columns / 32;
  float sum = 0;
  for (int i = threadIdx.x % 32; i < units; i += 32) {
    const uint4 read = weights[static_cast<int64_t>(row) * units + i];
    const __half* at = x + i * 32;
    const float part = dot_of_nibbles(read.x, at) + dot_of_nibbles(read.y, at + 8) +
                       dot_of_nibbles(read.z, at + 16) + dot_of_nibbles(read.w, at + 24);
    sum += part * __half2float(scales[static_cast<int64_t>(row) * (columns / 64) + i / 2]);
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) to[row] = sum;
}

// Blocks share out the columns of a row and add up in memory.
__global__ void nibbles_with_atomics(const uint4* weights, const __half* scales, const __half* x, float* to,
                                     int columns) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, units = columns / 32;
  const int share = units / gridDim.y;
  float sum = 0;
  for (int i = blockIdx.y * share + threadIdx.x % 32; i < (blockIdx.y + 1) * share; i += 32) {
    const uint4 read = weights[static_cast<int64_t>(row) * units + i];
    const __half* at = x + i * 32;
    const float part = dot_of_nibbles(read.x, at) + dot_of_nibbles(read.y, at + 8) +
                       dot_of_nibbles(read.z, at + 16) + dot_of_nibbles(read.w, at + 24);
    sum += part * __half2float(scales[static_cast<int64_t>(row) * (columns / 64) + i / 2]);
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) atomicAdd(to + row, sum);
}

namespace wmma = nvcuda::wmma;
constexpr int kSide = 16;
using A = wmma::fragment<wmma::matrix_a, kSide, kSide, kSide, __half, wmma::row_major>;
using B = wmma::fragment<wmma::matrix_b, kSide, kSide, kSide, __half, wmma::col_major>;
using C = wmma::fragment<wmma::accumulator, kSide, kSide, kSide, float>;

// x is [m, k], weights are [n, k]. A warp takes a tile of 16 x 16 and reads both from memory.
__global__ void halves_from_memory(const __half* x, const __half* weights, float* to, int n, int k) {
  const int warp = threadIdx.x / 32, column = (blockIdx.x * (blockDim.x / 32) + warp) * kSide;
  C sums;
  wmma::fill_fragment(sums, 0.0f);
  for (int i = 0; i < k; i += kSide) {
    A a;
    B b;
    wmma::load_matrix_sync(a, x + static_cast<int64_t>(blockIdx.y) * kSide * k + i, k);
    wmma::load_matrix_sync(b, weights + static_cast<int64_t>(column) * k + i, k);
    wmma::mma_sync(sums, a, b, sums);
  }
  wmma::store_matrix_sync(to + static_cast<int64_t>(blockIdx.y) * kSide * n + column, sums, n,
                          wmma::mem_row_major);
}

// A block takes kRows x kColumns of the result, with steps of 32 in shared memory; a warp 32 x 32 of it.
template <int kRows, int kColumns>
__global__ void halves_through_shared(const __half* x, const __half* weights, float* to, int n, int k) {
  constexpr int kStep = 32, kPitch = kStep + 8, kWarps = kRows / 32 * (kColumns / 32);
  __shared__ __align__(16) __half left[kRows * kPitch], right[kColumns * kPitch];
  const int warp = threadIdx.x / 32, row = warp / (kColumns / 32) * 32, column = warp % (kColumns / 32) * 32;
  C sums[2][2];
  for (auto& pair : sums)
    for (auto& one : pair) wmma::fill_fragment(one, 0.0f);
  for (int start = 0; start < k; start += kStep) {
    for (int i = threadIdx.x; i < (kRows + kColumns) * 4; i += kWarps * 32) {
      const int line = i / 4, unit = i % 4;
      const __half* from = line < kRows
                               ? x + (static_cast<int64_t>(blockIdx.y) * kRows + line) * k
                               : weights + (static_cast<int64_t>(blockIdx.x) * kColumns + line - kRows) * k;
      __half* into = line < kRows ? left + line * kPitch : right + (line - kRows) * kPitch;
      reinterpret_cast<uint4*>(into)[unit] = reinterpret_cast<const uint4*>(from + start)[unit];
    }
    __syncthreads();
#pragma unroll
    for (int part = 0; part < kStep; part += kSide) {
      A a[2];
      B b[2];
      for (int i = 0; i < 2; ++i) {
        wmma::load_matrix_sync(a[i], left + (row + i * kSide) * kPitch + part, kPitch);
        wmma::load_matrix_sync(b[i], right + (column + i * kSide) * kPitch + part, kPitch);
      }
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) wmma::mma_sync(sums[i][j], a[i], b[j], sums[i][j]);
    }
    __syncthreads();
  }
  float* out = to + (static_cast<int64_t>(blockIdx.y) * kRows + row) * n + blockIdx.x * kColumns + column;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      wmma::store_matrix_sync(out + static_cast<int64_t>(i) * kSide * n + j * kSide, sums[i][j], n,
                              wmma::mem_row_major);
}

template <typename T>
T* as(void* pointer) {
  return static_cast<T*>(pointer);
}

using Cases = std::vector<bench::Case>;

void add_bytes(Cases& cases, int rows, int columns) {
  const std::string family = "bytes_" + std::to_string(rows) + "x" + std::to_string(columns);
  const std::vector<bench::Buffer> buffers{{size_t{1} * rows * columns, bench::Fill::kBytes},
                                           {size_t{4} * rows, bench::Fill::kFloats},
                                           {size_t{2} * columns, bench::Fill::kHalves},
                                           {size_t{4} * rows, bench::Fill::kZero}};
  auto add = [&](const char* name, std::function<void(const bench::Pointers&)> run) {
    cases.push_back({family, family + "_" + name, buffers, std::move(run)});
  };
  add("threads", [=](const bench::Pointers& p) {
    bytes_by_threads<<<bench::blocks_for(rows, 64), 64>>>(as<const int8_t>(p[0]), as<const float>(p[1]),
                                                          as<const __half>(p[2]), as<float>(p[3]), rows,
                                                          columns);
  });
  add("warps", [=](const bench::Pointers& p) {
    bytes_by_warps<<<rows / 4, 128>>>(as<const int8_t>(p[0]), as<const float>(p[1]), as<const __half>(p[2]),
                                      as<float>(p[3]), columns);
  });
  add("warps_wide", [=](const bench::Pointers& p) {
    bytes_by_warps_wide<<<rows / 4, 128>>>(as<const uint4>(p[0]), as<const float>(p[1]),
                                           as<const __half2>(p[2]), as<float>(p[3]), columns / 16);
  });
  add("shared_x", [=](const bench::Pointers& p) {
    bytes_with_shared_x<<<rows / 8, 256, 4 * columns>>>(
        as<const uint4>(p[0]), as<const float>(p[1]), as<const __half>(p[2]), as<float>(p[3]), columns / 16);
  });
}

void add_nibbles(Cases& cases, int rows, int columns) {
  const std::string family = "nibbles_" + std::to_string(rows) + "x" + std::to_string(columns);
  const std::vector<bench::Buffer> buffers{{size_t{1} * rows * columns / 2, bench::Fill::kBytes},
                                           {size_t{2} * rows * columns / 64, bench::Fill::kHalves},
                                           {size_t{2} * columns, bench::Fill::kHalves},
                                           {size_t{4} * rows, bench::Fill::kZero}};
  auto add = [&](const char* name, std::function<void(const bench::Pointers&)> run) {
    cases.push_back({family, family + "_" + name, buffers, std::move(run)});
  };
  add("warps", [=](const bench::Pointers& p) {
    nibbles_by_warps<<<rows / 4, 128>>>(as<const unsigned>(p[0]), as<const __half>(p[1]),
                                        as<const __half>(p[2]), as<float>(p[3]), columns);
  });
  add("warps_wide", [=](const bench::Pointers& p) {
    nibbles_by_warps_wide<<<rows / 4, 128>>>(as<const uint4>(p[0]), as<const __half>(p[1]),
                                             as<const __half>(p[2]), as<float>(p[3]), columns);
  });
  add("atomics", [=](const bench::Pointers& p) {
    nibbles_with_atomics<<<dim3(rows / 4, 4), 128>>>(as<const uint4>(p[0]), as<const __half>(p[1]),
                                                     as<const __half>(p[2]), as<float>(p[3]), columns);
  });
}

void add_halves(Cases& cases, int m, int n, int k) {
  const std::string family =
      "halves_" + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
  const std::vector<bench::Buffer> buffers{{size_t{2} * m * k, bench::Fill::kHalves},
                                           {size_t{2} * n * k, bench::Fill::kHalves},
                                           {size_t{4} * m * n, bench::Fill::kZero}};
  auto add = [&](const char* name, auto kernel, int rows, int columns, int threads) {
    cases.push_back({family, family + "_" + name, buffers, [=](const bench::Pointers& p) {
                       kernel<<<dim3(n / columns, m / rows), threads>>>(
                           as<const __half>(p[0]), as<const __half>(p[1]), as<float>(p[2]), n, k);
                     }});
  };
  add("from_memory", halves_from_memory, 16, 64, 128);
  add("64x64", halves_through_shared<64, 64>, 64, 64, 128);
  add("64x128", halves_through_shared<64, 128>, 64, 128, 256);
  add("128x64", halves_through_shared<128, 64>, 128, 64, 256);
}

}  // namespace

int main(int argc, char** argv) {
  Cases cases;
  add_bytes(cases, 1024, 2048);
  add_bytes(cases, 4096, 2048);
  add_nibbles(cases, 1024, 4096);
  add_nibbles(cases, 4096, 4096);
  add_halves(cases, 128, 1024, 512);
  add_halves(cases, 256, 2048, 1024);
  return bench::main_of(argc, argv, cases);
}
