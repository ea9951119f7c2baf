// Sums of rows, sums of everything, and histograms.
#include "bench.cuh"

namespace {

__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffffu, value, step);
  return value;
}

__global__ void thread_per_row(const float* from, float* to, int rows, int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += from[size_t{static_cast<unsigned>(row)} * columns + i];
  to[row] = sum;
}

__global__ void warp_per_row(const float* from, float* to, int rows, int columns) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (row >= rows) return;
  float sum = 0;
  for (int i = threadIdx.x % 32; i < columns; i += 32)
    sum += from[size_t{static_cast<unsigned>(row)} * columns + i];
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) to[row] = sum;
}

__global__ void warp_per_row_wide(const float4* from, float* to, int rows, int columns) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, units = columns / 4;
  if (row >= rows) return;
  float sum = 0;
  for (int i = threadIdx.x % 32; i < units; i += 32) {
    const float4 four = from[size_t{static_cast<unsigned>(row)} * units + i];
    sum += (four.x + four.y) + (four.z + four.w);
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) to[row] = sum;
}

__device__ float block_sum(float value) {
  __shared__ float parts[32];
  value = warp_sum(value);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0.0f;
  return threadIdx.x < 32 ? warp_sum(value) : 0.0f;
}

__global__ void block_per_row(const float* from, float* to, int, int columns) {
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += from[size_t{blockIdx.x} * columns + i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) to[blockIdx.x] = sum;
}

// Sums of 256 elements per block, by a tree in shared memory: neighbours first, so that lanes diverge …
__global__ void tree_of_neighbours(const float* from, float* to) {
  __shared__ float part[256];
  part[threadIdx.x] = from[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  for (int step = 1; step < 256; step *= 2) {
    if (threadIdx.x % (2 * step) == 0) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(to, part[0]);
}

// … or halves, so that whole warps leave.
__global__ void tree_of_halves(const float* from, float* to) {
  __shared__ float part[256];
  part[threadIdx.x] = from[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  for (int step = 128; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(to, part[0]);
}

__global__ void shuffles(const float* from, float* to) {
  const float sum = block_sum(from[blockIdx.x * 256 + threadIdx.x]);
  if (threadIdx.x == 0) atomicAdd(to, sum);
}

__global__ void many_apiece(const float4* from, float* to, size_t units) {
  float sum = 0;
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < units;
       i += size_t{gridDim.x} * blockDim.x) {
    const float4 four = from[i];
    sum += (four.x + four.y) + (four.z + four.w);
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) atomicAdd(to, sum);
}

__global__ void histogram_global(const uint8_t* from, unsigned* bins, size_t count) {
  const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  if (i < count) atomicAdd(&bins[from[i]], 1u);
}

__global__ void histogram_shared(const uint8_t* from, unsigned* bins, size_t count) {
  __shared__ unsigned part[256];
  part[threadIdx.x] = 0;
  __syncthreads();
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count;
       i += size_t{gridDim.x} * blockDim.x)
    atomicAdd(&part[from[i]], 1u);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], part[threadIdx.x]);
}

// Four bytes a load, and a histogram for each warp.
__global__ void histogram_by_warp(const uchar4* from, unsigned* bins, size_t units) {
  __shared__ unsigned part[8][256];
  for (int i = threadIdx.x; i < 8 * 256; i += 256) part[i / 256][i % 256] = 0;
  __syncthreads();
  unsigned* mine = part[threadIdx.x / 32];
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < units;
       i += size_t{gridDim.x} * blockDim.x) {
    const uchar4 four = from[i];
    atomicAdd(&mine[four.x], 1u);
    atomicAdd(&mine[four.y], 1u);
    atomicAdd(&mine[four.z], 1u);
    atomicAdd(&mine[four.w], 1u);
  }
  __syncthreads();
  unsigned sum = 0;
  for (int w = 0; w < 8; ++w) sum += part[w][threadIdx.x];
  atomicAdd(&bins[threadIdx.x], sum);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<bench::Case> cases;
  for (const auto& [rows, columns] : {std::pair{4096, 1024}, {128, 16384}}) {
    const std::string size = "_" + std::to_string(rows) + "x" + std::to_string(columns);
    const std::vector<bench::Buffer> buffers = {{size_t{4} * rows * columns, bench::Fill::kFloats},
                                                {size_t{4} * rows, bench::Fill::kZero}};
    auto add = [&, rows = rows, columns = columns](const char* name, auto kernel, unsigned grid,
                                                   unsigned block, auto unit) {
      using Unit = decltype(unit);
      cases.push_back({"row_sums" + size, name + size, buffers, [=](const bench::Pointers& p) {
                         kernel<<<grid, block>>>(static_cast<const Unit*>(p[0]), static_cast<float*>(p[1]),
                                                 rows, columns);
                       }});
    };
    add("row_sum_thread", thread_per_row, bench::blocks_for(rows, 128), 128, float{});
    add("row_sum_warp", warp_per_row, bench::blocks_for(rows, 8), 256, float{});
    add("row_sum_warp_wide", warp_per_row_wide, bench::blocks_for(rows, 8), 256, float4{});
    add("row_sum_block", block_per_row, static_cast<unsigned>(rows), 256, float{});
  }
  constexpr size_t kCount = size_t{2} << 20;
  const std::vector<bench::Buffer> all = {{4 * kCount, bench::Fill::kFloats}, {4, bench::Fill::kZero}};
  auto sum = [&](const char* name, auto kernel) {
    cases.push_back({"sums", name, all, [=](const bench::Pointers& p) {
                       kernel<<<kCount / 256, 256>>>(static_cast<const float*>(p[0]),
                                                     static_cast<float*>(p[1]));
                     }});
  };
  sum("sum_tree_of_neighbours", tree_of_neighbours);
  sum("sum_tree_of_halves", tree_of_halves);
  sum("sum_shuffles", shuffles);
  cases.push_back({"sums", "sum_many_apiece", all, [](const bench::Pointers& p) {
                     many_apiece<<<528, 256>>>(static_cast<const float4*>(p[0]), static_cast<float*>(p[1]),
                                               kCount / 4);
                   }});
  constexpr size_t kBytes = size_t{2} << 20;
  const std::vector<bench::Buffer> bytes = {{kBytes, bench::Fill::kBytes}, {1024, bench::Fill::kZero}};
  auto histogram = [&](const char* name, unsigned grid, auto kernel, auto unit) {
    using Unit = decltype(unit);
    cases.push_back({"histograms", name, bytes, [=](const bench::Pointers& p) {
                       kernel<<<grid, 256>>>(static_cast<const Unit*>(p[0]), static_cast<unsigned*>(p[1]),
                                             kBytes / sizeof(Unit));
                     }});
  };
  histogram("histogram_global", kBytes / 256, histogram_global, uint8_t{});
  histogram("histogram_shared", 264, histogram_shared, uint8_t{});
  histogram("histogram_by_warp", 264, histogram_by_warp, uchar4{});
  return bench::main_of(argc, argv, cases);
}
