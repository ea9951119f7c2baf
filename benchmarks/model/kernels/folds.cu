// Many values made into few: largest, sums of halves, running sums, mean and variance, and counts.
#include "bench.cuh"

namespace {

constexpr unsigned kAllLanes = 0xffffffffu;

__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(kAllLanes, value, step);
  return value;
}

// For every thread of the block, which may call it more than once.
__device__ float block_sum(float value) {
  __shared__ float parts[32];
  value = warp_sum(value);
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  return warp_sum(threadIdx.x % 32 < blockDim.x / 32 ? parts[threadIdx.x % 32] : 0.0f);
}

__device__ float block_max(float value) {
  __shared__ float parts[32];
  for (int step = 16; step > 0; step /= 2) value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, step));
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x % 32 < blockDim.x / 32 ? parts[threadIdx.x % 32] : -INFINITY;
  for (int step = 16; step > 0; step /= 2) value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, step));
  return value;
}

// Integers in the order of the floats, all of them above zero.
__device__ unsigned ordered(float value) {
  const unsigned bits = __float_as_uint(value);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__device__ float max_of_share(const float* from, int count) {
  float largest = -INFINITY;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    largest = fmaxf(largest, from[i]);
  return block_max(largest);
}

// With as many threads as values, or with fewer that take several.
__global__ void max_with_atomics(const float* from, unsigned* to, int count) {
  const float largest = max_of_share(from, count);
  if (threadIdx.x == 0) atomicMax(to, ordered(largest));
}

__global__ void max_of_blocks(const float* from, float* to, int count) {
  const float largest = max_of_share(from, count);
  if (threadIdx.x == 0) to[blockIdx.x] = largest;
}

__global__ void half_rows_warp(const __half* from, float* to, int columns) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  float sum = 0;
  for (int i = threadIdx.x % 32; i < columns; i += 32) sum += __half2float(from[row * columns + i]);
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) to[row] = sum;
}

__device__ float sum_of_eight(uint4 unit) {
  const auto* pairs = reinterpret_cast<const __half2*>(&unit);
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float2 two = __half22float2(pairs[k]);
    sum += two.x + two.y;
  }
  return sum;
}

__global__ void half_rows_warp_wide(const __half* from, float* to, int columns) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const auto* units = reinterpret_cast<const uint4*>(from + row * columns);
  float sum = 0;
  for (int i = threadIdx.x % 32; i < columns / 8; i += 32) sum += sum_of_eight(units[i]);
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) to[row] = sum;
}

__global__ void half_rows_block(const __half* from, float* to, int columns) {
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += __half2float(from[blockIdx.x * columns + i]);
  sum = block_sum(sum);
  if (threadIdx.x == 0) to[blockIdx.x] = sum;
}

__global__ void half_rows_block_wide(const __half* from, float* to, int columns) {
  const auto* units = reinterpret_cast<const uint4*>(from + blockIdx.x * columns);
  float sum = 0;
  for (int i = threadIdx.x; i < columns / 8; i += blockDim.x) sum += sum_of_eight(units[i]);
  sum = block_sum(sum);
  if (threadIdx.x == 0) to[blockIdx.x] = sum;
}

// The sum of the values of threads before this one in a block of 1024, and of all of them.
struct Running {
  unsigned before, total;
};

__device__ unsigned scan_warp(unsigned value) {
  for (unsigned step = 1; step < 32; step *= 2) {
    const unsigned other = __shfl_up_sync(kAllLanes, value, step);
    if (threadIdx.x % 32 >= step) value += other;
  }
  return value;
}

__device__ Running scan_block(unsigned value) {
  __shared__ unsigned warps[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned within = scan_warp(value);
  __syncthreads();
  if (lane == 31) warps[warp] = within;
  __syncthreads();
  if (warp == 0) warps[lane] = scan_warp(warps[lane]);
  __syncthreads();
  return {within - value + (warp > 0 ? warps[warp - 1] : 0u), warps[31]};
}

// One block takes 1024 values at a time.
__global__ void scan_by_one_block(const unsigned* from, unsigned* to, int count) {
  unsigned carry = 0;
  for (int i = threadIdx.x; i < count; i += 1024) {
    const Running sum = scan_block(from[i]);
    to[i] = carry + sum.before;
    carry += sum.total;
  }
}

// Three launches: the blocks by themselves, their sums by one block, and those added to the blocks.
__global__ void scan_blocks(const unsigned* from, unsigned* to, unsigned* sums) {
  const int i = blockIdx.x * 1024 + threadIdx.x;
  const Running sum = scan_block(from[i]);
  to[i] = sum.before;
  if (threadIdx.x == 0) sums[blockIdx.x] = sum.total;
}

__global__ void add_offsets(unsigned* to, const unsigned* offsets) {
  to[blockIdx.x * 1024 + threadIdx.x] += offsets[blockIdx.x];
}

// Two launches: the sums of blocks, then every block adds up those before it.
__global__ void sums_of_blocks(const unsigned* from, unsigned* sums) {
  const Running sum = scan_block(from[blockIdx.x * 1024 + threadIdx.x]);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum.total;
}

__global__ void scan_with_sums(const unsigned* from, unsigned* to, const unsigned* sums) {
  const unsigned offset = scan_block(threadIdx.x < blockIdx.x ? sums[threadIdx.x] : 0u).total;
  const int i = blockIdx.x * 1024 + threadIdx.x;
  to[i] = offset + scan_block(from[i]).before;
}

__global__ void moments_warp_two_passes(const float* from, float2* to, int columns) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  float sum = 0, squares = 0;
  for (int i = lane; i < columns; i += 32) sum += from[row * columns + i];
  const float mean = warp_sum(sum) / columns;
  for (int i = lane; i < columns; i += 32) {
    const float apart = from[row * columns + i] - mean;
    squares += apart * apart;
  }
  squares = warp_sum(squares);
  if (lane == 0) to[row] = make_float2(mean, squares / columns);
}

// Welford's way: a mean and a sum of squares kept up to date, and joined between lanes.
__global__ void moments_warp_welford(const float* from, float2* to, int columns) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  float count = 0, mean = 0, squares = 0;
  for (int i = lane; i < columns; i += 32) {
    const float value = from[row * columns + i], apart = value - mean;
    count += 1;
    mean += apart / count;
    squares += apart * (value - mean);
  }
  for (int step = 16; step > 0; step /= 2) {
    const float other_count = __shfl_xor_sync(kAllLanes, count, step);
    const float apart = __shfl_xor_sync(kAllLanes, mean, step) - mean;
    const float other_squares = __shfl_xor_sync(kAllLanes, squares, step), total = count + other_count;
    squares += other_squares + apart * apart * count * other_count / total;
    mean += apart * other_count / total;
    count = total;
  }
  if (lane == 0) to[row] = make_float2(mean, squares / columns);
}

__global__ void moments_block_two_passes(const float* from, float2* to, int columns) {
  const float* row = from + blockIdx.x * columns;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += row[i];
  const float mean = block_sum(sum) / columns;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) squares += (row[i] - mean) * (row[i] - mean);
  squares = block_sum(squares);
  if (threadIdx.x == 0) to[blockIdx.x] = make_float2(mean, squares / columns);
}

__global__ void moments_block_one_pass(const float* from, float2* to, int columns) {
  const float* row = from + blockIdx.x * columns;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    sum += row[i];
    squares += row[i] * row[i];
  }
  const float mean = block_sum(sum) / columns;
  squares = block_sum(squares);
  if (threadIdx.x == 0) to[blockIdx.x] = make_float2(mean, squares / columns - mean * mean);
}

constexpr float kThreshold = 0.5f;

__global__ void count_ballot(const float* from, unsigned* to) {
  const bool above = from[blockIdx.x * blockDim.x + threadIdx.x] > kThreshold;
  const unsigned lanes = __ballot_sync(kAllLanes, above);
  if (threadIdx.x % 32 == 0) atomicAdd(to, __popc(lanes));
}

__global__ void count_in_shared(const float* from, unsigned* to) {
  __shared__ unsigned found;
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  if (from[blockIdx.x * blockDim.x + threadIdx.x] > kThreshold) atomicAdd(&found, 1u);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(to, found);
}

__global__ void count_at_barrier(const float* from, unsigned* to) {
  const int found = __syncthreads_count(from[blockIdx.x * blockDim.x + threadIdx.x] > kThreshold);
  if (threadIdx.x == 0) atomicAdd(to, static_cast<unsigned>(found));
}

using Cases = std::vector<bench::Case>;

void add_largest(Cases& cases) {
  constexpr int kCount = 4 << 20, kBlocks = 264;
  const std::vector<bench::Buffer> buffers = {
      {size_t{4} * kCount, bench::Fill::kFloats}, {4, bench::Fill::kZero}, {4 * kBlocks, bench::Fill::kZero}};
  auto add = [&](const char* name, unsigned grid) {
    cases.push_back({"largest", name, buffers, [=](const bench::Pointers& p) {
                       max_with_atomics<<<grid, 256>>>(static_cast<const float*>(p[0]),
                                                       static_cast<unsigned*>(p[1]), kCount);
                     }});
  };
  add("largest_atomic_per_block", kCount / 256);
  add("largest_grid_stride", kBlocks);
  cases.push_back({"largest", "largest_two_launches", buffers, [](const bench::Pointers& p) {
                     auto* parts = static_cast<float*>(p[2]);
                     max_of_blocks<<<kBlocks, 256>>>(static_cast<const float*>(p[0]), parts, kCount);
                     max_of_blocks<<<1, 256>>>(parts, static_cast<float*>(p[1]), kBlocks);
                   }});
}

void add_half_rows(Cases& cases) {
  constexpr int kRows = 8192, kColumns = 1024;
  const std::vector<bench::Buffer> buffers = {{size_t{2} * kRows * kColumns, bench::Fill::kHalves},
                                              {size_t{4} * kRows, bench::Fill::kZero}};
  auto add = [&](const char* name, auto kernel, unsigned rows_per_block, unsigned block) {
    cases.push_back({"sums_of_half_rows", name, buffers, [=](const bench::Pointers& p) {
                       kernel<<<kRows / rows_per_block, block>>>(static_cast<const __half*>(p[0]),
                                                                 static_cast<float*>(p[1]), kColumns);
                     }});
  };
  add("half_rows_warp", half_rows_warp, 8, 256);
  add("half_rows_warp_wide", half_rows_warp_wide, 8, 256);
  add("half_rows_block", half_rows_block, 1, 256);
  add("half_rows_block_wide", half_rows_block_wide, 1, 128);
}

void add_scans(Cases& cases) {
  constexpr int kCount = 1 << 20, kBlocks = kCount / 1024;
  const std::vector<bench::Buffer> buffers = {{size_t{4} * kCount, bench::Fill::kShuffled},
                                              {size_t{4} * kCount, bench::Fill::kZero},
                                              {4 * kBlocks, bench::Fill::kZero},
                                              {4 * kBlocks, bench::Fill::kZero}};
  cases.push_back({"scans", "scan_one_block", buffers, [](const bench::Pointers& p) {
                     scan_by_one_block<<<1, 1024>>>(static_cast<const unsigned*>(p[0]),
                                                    static_cast<unsigned*>(p[1]), kCount);
                   }});
  cases.push_back({"scans", "scan_two_launches", buffers, [](const bench::Pointers& p) {
                     const auto* from = static_cast<const unsigned*>(p[0]);
                     auto* sums = static_cast<unsigned*>(p[2]);
                     sums_of_blocks<<<kBlocks, 1024>>>(from, sums);
                     scan_with_sums<<<kBlocks, 1024>>>(from, static_cast<unsigned*>(p[1]), sums);
                   }});
  cases.push_back({"scans", "scan_three_launches", buffers, [](const bench::Pointers& p) {
                     auto *to = static_cast<unsigned*>(p[1]), *sums = static_cast<unsigned*>(p[2]),
                          *offsets = static_cast<unsigned*>(p[3]);
                     scan_blocks<<<kBlocks, 1024>>>(static_cast<const unsigned*>(p[0]), to, sums);
                     scan_by_one_block<<<1, 1024>>>(sums, offsets, kBlocks);
                     add_offsets<<<kBlocks, 1024>>>(to, offsets);
                   }});
}

void add_moments(Cases& cases) {
  constexpr int kRows = 512, kColumns = 2048;
  const std::vector<bench::Buffer> buffers = {{size_t{4} * kRows * kColumns, bench::Fill::kFloats},
                                              {size_t{8} * kRows, bench::Fill::kZero}};
  auto add = [&](const char* name, auto kernel, unsigned rows_per_block, unsigned block) {
    cases.push_back({"moments_of_rows", name, buffers, [=](const bench::Pointers& p) {
                       kernel<<<kRows / rows_per_block, block>>>(static_cast<const float*>(p[0]),
                                                                 static_cast<float2*>(p[1]), kColumns);
                     }});
  };
  add("moments_warp_two_passes", moments_warp_two_passes, 4, 128);
  add("moments_warp_welford", moments_warp_welford, 4, 128);
  add("moments_block_two_passes", moments_block_two_passes, 1, 256);
  add("moments_block_one_pass", moments_block_one_pass, 1, 256);
}

void add_counts(Cases& cases) {
  constexpr int kCount = 1 << 20;
  const std::vector<bench::Buffer> buffers = {{size_t{4} * kCount, bench::Fill::kFloats},
                                              {4, bench::Fill::kZero}};
  auto add = [&](const char* name, auto kernel) {
    cases.push_back({"counts", name, buffers, [=](const bench::Pointers& p) {
                       kernel<<<kCount / 512, 512>>>(static_cast<const float*>(p[0]),
                                                     static_cast<unsigned*>(p[1]));
                     }});
  };
  add("count_ballot", count_ballot);
  add("count_in_shared", count_in_shared);
  add("count_at_barrier", count_at_barrier);
}

}  // namespace

int main(int argc, char** argv) {
  Cases cases;
  add_largest(cases);
  add_half_rows(cases);
  add_scans(cases);
  add_moments(cases);
  add_counts(cases);
  return bench::main_of(argc, argv, cases);
}
