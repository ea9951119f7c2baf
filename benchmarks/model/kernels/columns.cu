// Sums down columns, the largest of each row, and dot products.
#include "bench.cuh"

namespace {

__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffffu, value, step);
  return value;
}

__device__ float block_sum(float value) {
  __shared__ float parts[32];
  value = warp_sum(value);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0.0f;
  return threadIdx.x < 32 ? warp_sum(value) : 0.0f;
}

__global__ void thread_per_column(const float* from, float* to, int rows, int columns) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= columns) return;
  float sum = 0;
  for (int row = 0; row < rows; ++row) sum += from[row * columns + column];
  to[column] = sum;
}

// A block has 32 columns; its warps take rows in turn and meet in shared memory.
__global__ void tile_of_columns(const float* from, float* to, int rows, int columns) {
  __shared__ float tile[32][33];
  const int column = blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  for (int row = threadIdx.y; row < rows; row += 32) sum += from[row * columns + column];
  tile[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  sum = warp_sum(tile[threadIdx.x][threadIdx.y]);
  if (threadIdx.x == 0) to[blockIdx.x * 32 + threadIdx.y] = sum;
}

constexpr int kGroup = 32;  // rows a thread adds up where blocks share a column

__device__ float sum_of_group(const float* from, int columns, int column) {
  float sum = 0;
  for (int row = blockIdx.y * kGroup; row < static_cast<int>(blockIdx.y + 1) * kGroup; ++row)
    sum += from[row * columns + column];
  return sum;
}

__global__ void groups_with_atomics(const float* from, float* to, int, int columns) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&to[column], sum_of_group(from, columns, column));
}

__global__ void groups_apart(const float* from, float* parts, int columns) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  parts[blockIdx.y * columns + column] = sum_of_group(from, columns, column);
}

struct Best {
  float value;
  int index;
};

// The larger, and of equals the first.
__device__ Best better(Best a, Best b) {
  return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;
}

__device__ Best warp_best(Best best) {
  for (int step = 16; step > 0; step /= 2)
    best = better(best, {__shfl_down_sync(0xffffffffu, best.value, step),
                         __shfl_down_sync(0xffffffffu, best.index, step)});
  return best;
}

__global__ void argmax_warp_per_row(const float* from, int* to, int rows, int columns) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (row >= rows) return;
  Best best = {-INFINITY, 0};
  for (int i = threadIdx.x % 32; i < columns; i += 32) best = better(best, {from[row * columns + i], i});
  best = warp_best(best);
  if (threadIdx.x % 32 == 0) to[row] = best.index;
}

__global__ void argmax_block_per_row(const float* from, int* to, int, int columns) {
  __shared__ Best parts[32];
  Best best = {-INFINITY, 0};
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    best = better(best, {from[blockIdx.x * columns + i], i});
  best = warp_best(best);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = best;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  best = warp_best(threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : Best{-INFINITY, 0});
  if (threadIdx.x == 0) to[blockIdx.x] = best.index;
}

// As above by a tree in shared memory.
__global__ void argmax_block_tree(const float* from, int* to, int, int columns) {
  __shared__ float values[256];
  __shared__ int indices[256];
  Best best = {-INFINITY, 0};
  for (int i = threadIdx.x; i < columns; i += 256) best = better(best, {from[blockIdx.x * columns + i], i});
  values[threadIdx.x] = best.value;
  indices[threadIdx.x] = best.index;
  __syncthreads();
  for (unsigned step = 128; step > 0; step /= 2) {
    if (threadIdx.x < step) {
      best = better({values[threadIdx.x], indices[threadIdx.x]},
                    {values[threadIdx.x + step], indices[threadIdx.x + step]});
      values[threadIdx.x] = best.value;
      indices[threadIdx.x] = best.index;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) to[blockIdx.x] = indices[0];
}

__global__ void dot_atomic_per_warp(const float* a, const float* b, float* to, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const float sum = warp_sum(i < count ? a[i] * b[i] : 0.0f);
  if (threadIdx.x % 32 == 0) atomicAdd(to, sum);
}

__device__ float dot_of_block(const float* a, const float* b, unsigned count) {
  float sum = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    sum += a[i] * b[i];
  return block_sum(sum);
}

__global__ void dot_grid_stride(const float* a, const float* b, float* to, unsigned count) {
  const float sum = dot_of_block(a, b, count);
  if (threadIdx.x == 0) atomicAdd(to, sum);
}

__global__ void dot_parts(const float* a, const float* b, float* parts, unsigned count) {
  const float sum = dot_of_block(a, b, count);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

__global__ void sum_parts(const float* parts, float* to, unsigned count) {
  float sum = 0;
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x) sum += parts[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *to = sum;
}

using Cases = std::vector<bench::Case>;

void add_column_sums(Cases& cases) {
  for (const auto& [rows, columns] : {std::pair{4096, 512}, {256, 1024}}) {
    const std::string size = "_" + std::to_string(rows) + "x" + std::to_string(columns);
    const std::vector<bench::Buffer> buffers = {{size_t{4} * rows * columns, bench::Fill::kFloats},
                                                {size_t{4} * columns, bench::Fill::kZero},
                                                {size_t{4} * rows / kGroup * columns, bench::Fill::kZero}};
    auto add = [&, rows = rows, columns = columns](const char* name, auto kernel, dim3 grid, dim3 block) {
      cases.push_back({"column_sums" + size, name + size, buffers, [=](const bench::Pointers& p) {
                         kernel<<<grid, block>>>(static_cast<const float*>(p[0]), static_cast<float*>(p[1]),
                                                 rows, columns);
                       }});
    };
    const dim3 groups(columns / 128, rows / kGroup);
    add("column_sum_thread", thread_per_column, columns / 128, 128);
    add("column_sum_tile", tile_of_columns, columns / 32, dim3(32, 32));
    add("column_sum_atomics", groups_with_atomics, groups, 128);
    cases.push_back({"column_sums" + size, "column_sum_two_launches" + size, buffers,
                     [=, rows = rows, columns = columns](const bench::Pointers& p) {
                       auto* parts = static_cast<float*>(p[2]);
                       groups_apart<<<groups, 128>>>(static_cast<const float*>(p[0]), parts, columns);
                       thread_per_column<<<columns / 128, 128>>>(parts, static_cast<float*>(p[1]),
                                                                 rows / kGroup, columns);
                     }});
  }
}

void add_argmax(Cases& cases) {
  constexpr int kRows = 512, kColumns = 4096;
  const std::vector<bench::Buffer> buffers = {{size_t{4} * kRows * kColumns, bench::Fill::kFloats},
                                              {size_t{4} * kRows, bench::Fill::kZero}};
  auto add = [&](const char* name, auto kernel, unsigned grid) {
    cases.push_back({"argmax_rows", name, buffers, [=](const bench::Pointers& p) {
                       kernel<<<grid, 256>>>(static_cast<const float*>(p[0]), static_cast<int*>(p[1]), kRows,
                                             kColumns);
                     }});
  };
  add("argmax_warp_per_row", argmax_warp_per_row, kRows / 8);
  add("argmax_block_per_row", argmax_block_per_row, kRows);
  add("argmax_block_tree", argmax_block_tree, kRows);
}

void add_dots(Cases& cases) {
  constexpr unsigned kCount = 1u << 20, kBlocks = 264;
  const std::vector<bench::Buffer> buffers = {{4 * kCount, bench::Fill::kFloats},
                                              {4 * kCount, bench::Fill::kFloats},
                                              {4, bench::Fill::kZero},
                                              {4 * kBlocks, bench::Fill::kZero}};
  auto add = [&](const char* name, auto kernel, unsigned grid) {
    cases.push_back({"dot_products", name, buffers, [=](const bench::Pointers& p) {
                       kernel<<<grid, 256>>>(static_cast<const float*>(p[0]), static_cast<const float*>(p[1]),
                                             static_cast<float*>(p[2]), kCount);
                     }});
  };
  add("dot_atomic_per_warp", dot_atomic_per_warp, kCount / 256);
  add("dot_grid_stride", dot_grid_stride, kBlocks);
  cases.push_back({"dot_products", "dot_two_launches", buffers, [](const bench::Pointers& p) {
                     auto* parts = static_cast<float*>(p[3]);
                     dot_parts<<<kBlocks, 256>>>(static_cast<const float*>(p[0]),
                                                 static_cast<const float*>(p[1]), parts, kCount);
                     sum_parts<<<1, 256>>>(parts, static_cast<float*>(p[2]), kBlocks);
                   }});
}

}  // namespace

int main(int argc, char** argv) {
  Cases cases;
  add_column_sums(cases);
  add_argmax(cases);
  add_dots(cases);
  return bench::main_of(argc, argv, cases);
}
