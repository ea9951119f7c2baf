// Divergence, locks, named barriers and flags, each used correctly: the answers are right and nothing is
// found.
#include <cooperative_groups.h>

#include <functional>
#include <vector>

#include "../../../benchmarks/virtual_gpu/programs/check.cuh"

constexpr unsigned kAll = 0xffffffffu;

__global__ void sync_from_both_sides(int* out) {
  __shared__ int box[64];
  const int lane = threadIdx.x % 32, base = threadIdx.x & ~31;
  box[threadIdx.x] = 0;
  __syncwarp();
  int got = 0;
  if (lane % 3 == 0) {
    box[threadIdx.x] = lane * 2;
    __syncwarp();
    got = __shfl_xor_sync(kAll, lane, 1);
  } else {
    box[threadIdx.x] = lane * 5;
    __syncwarp();
    got = __shfl_xor_sync(kAll, lane, 1);
  }
  __syncwarp();
  const int other = (lane + 7) % 32;
  out[threadIdx.x] = got * 1000 + box[base + other];
}

int expected_both_sides(int i) {
  const int lane = i % 32, other = (lane + 7) % 32;
  return (lane ^ 1) * 1000 + (other % 3 == 0 ? other * 2 : other * 5);
}

__global__ void groups_by_value(int* out) {
  const int lane = threadIdx.x % 32, value = (lane * lane) % 7;
  const unsigned group = __match_any_sync(kAll, value);
  int sum = lane;
  // A reduction among lanes with the same value: each group has its own mask.
  const int rank = __popc(group & ((1u << lane) - 1)), size = __popc(group);
  for (int step = 1; step < size; step *= 2) {
    const int source = rank + step < size ? __fns(group, 0, rank + step + 1) : lane;
    const int other = __shfl_sync(group, sum, source);
    if (rank + step < size) sum += other;
  }
  sum = __shfl_sync(group, sum, __ffs(group) - 1);
  out[threadIdx.x] = sum * 100 + __reduce_max_sync(group, lane);
}

int expected_groups(int i) {
  const int lane = i % 32, value = (lane * lane) % 7;
  int sum = 0, most = 0;
  for (int k = 0; k < 32; ++k)
    if ((k * k) % 7 == value) sum += k, most = k;
  return sum * 100 + most;
}

__device__ int lock_words[8];
__device__ int guarded[8];

__global__ void lock_inside_the_loop() {
  const int which = threadIdx.x % 4;
  bool done = false;
  while (!done) {
    if (atomicCAS(&lock_words[which], 0, 1) == 0) {
      __threadfence();
      volatile int* value = &guarded[which];
      *value = *value + 1;
      __threadfence();
      atomicExch(&lock_words[which], 0);
      done = true;
    }
  }
}

__global__ void lock_after_the_loop() {
  const int which = 4 + threadIdx.x % 4;
  while (atomicCAS(&lock_words[which], 0, 1) != 0) {
  }
  __threadfence();
  volatile int* value = &guarded[which];
  *value = *value + 1;
  __threadfence();
  atomicExch(&lock_words[which], 0);
}

__global__ void shared_lock(int* out) {
  __shared__ int lock, sum;
  if (threadIdx.x == 0) lock = sum = 0;
  __syncthreads();
  while (atomicCAS(&lock, 0, 1) != 0) {
  }
  __threadfence_block();
  sum = sum + static_cast<int>(threadIdx.x);
  __threadfence_block();
  atomicExch(&lock, 0);
  __syncthreads();
  out[threadIdx.x] = sum;
}

__global__ void early_exit_then_named_barrier(int* out) {
  __shared__ int box[128];
  const int warp = threadIdx.x / 32;
  out[threadIdx.x] = -1;
  if (warp == 2) return;
  box[threadIdx.x] = threadIdx.x;
  asm volatile("bar.sync 3, 96;" ::: "memory");
  const int other = (threadIdx.x + 32) % 128;
  out[threadIdx.x] = box[other / 32 == 2 ? (other + 32) % 128 : other];
}

int expected_early_exit(int i) {
  if (i / 32 == 2) return -1;
  const int other = (i + 32) % 128;
  return other / 32 == 2 ? (other + 32) % 128 : other;
}

__host__ __device__ inline int nested(int seed) {
  int sum = 0;
  for (int i = 0; i < 20; ++i) {
    if ((seed + i) % 5 == 0) continue;
    for (int k = 0; k < 10; ++k) {
      if ((seed * k) % 7 == 3) break;
      if (sum > 150 + seed) return sum * 3;
      sum += (k % 2 == 0) ? i : seed % 11;
      do {
        sum += 1;
      } while (sum % 3 != 0);
    }
    if (sum % 13 == 7) goto out;
  }
  sum += 1000;
out:
  return sum;
}

__global__ void nested_divergence(int* out) {
  const int value = nested(static_cast<int>(threadIdx.x));
  __syncwarp();
  out[threadIdx.x] = value + __shfl_sync(kAll, value, 0);
}

__host__ __device__ __noinline__ int collatz(int n, int depth) {
  if (n == 1 || depth > 40) return depth;
  return n % 2 == 0 ? collatz(n / 2, depth + 1) : collatz(3 * n + 1, depth + 1);
}

__host__ __device__ __noinline__ int chosen(int kind, int x) {
  switch (kind % 6) {
    case 0:
      return x + 1;
    case 1:
      return x * x;
    case 2:
      x += 3;  // falls through
    case 3:
      return x - 2;
    case 4:
      return collatz(x + 1, 0);
    default:
      return -x;
  }
}

__device__ __noinline__ int twice(int x) {
  return 2 * x;
}
__device__ __noinline__ int square(int x) {
  return x * x;
}
using Function = int (*)(int);
__device__ Function functions[2] = {twice, square};

__global__ void divergent_calls(int* out) {
  const int i = static_cast<int>(threadIdx.x);
  int value = i % 2 ? chosen(i, i) : collatz(i + 1, 0);
  value += functions[(i / 3) % 2](i);
  out[i] = value;
}

int expected_calls(int i) {
  return (i % 2 ? chosen(i, i) : collatz(i + 1, 0)) + ((i / 3) % 2 ? i * i : 2 * i);
}

// Warp 0 produces, warp 1 consumes, through two stages guarded by full and empty barriers.
__global__ void named_barrier_pipeline(int* out, int rounds) {
  __shared__ int stage[2][32];
  const int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (int i = 0; i < rounds; ++i) {
      const int s = i % 2;
      if (i >= 2) asm volatile("bar.sync %0, 64;" ::"r"(3 + s) : "memory");
      stage[s][lane] = i * 100 + lane;
      asm volatile("bar.arrive %0, 64;" ::"r"(1 + s) : "memory");
    }
  } else {
    int sum = 0;
    for (int i = 0; i < rounds; ++i) {
      const int s = i % 2;
      asm volatile("bar.sync %0, 64;" ::"r"(1 + s) : "memory");
      sum += stage[s][31 - lane];
      if (i + 2 < rounds) asm volatile("bar.arrive %0, 64;" ::"r"(3 + s) : "memory");
    }
    out[lane] = sum;
  }
}

__global__ void volatile_flag_between_warps(int* out) {
  __shared__ volatile int flag;
  __shared__ int value[32];
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x < 32) {
    value[threadIdx.x] = threadIdx.x * 3;
    __threadfence_block();
    __syncwarp();
    if (threadIdx.x == 0) flag = 1;
  } else {
    while (flag == 0) {
    }
    __threadfence_block();
    out[threadIdx.x - 32] = value[63 - threadIdx.x];
  }
}

__global__ void chain_of_blocks(volatile int* flags, int* values) {
  if (threadIdx.x == 0) {
    const int b = blockIdx.x;
    if (b > 0)
      while (flags[b - 1] == 0) {
      }
    __threadfence();
    values[b] = b == 0 ? 1 : (values[b - 1] * 3 + b) % 1000003;
    __threadfence();
    flags[b] = 1;
  }
}

// Every block waits for one that comes later.
__global__ void chain_backwards(volatile int* flags, int* values) {
  if (threadIdx.x == 0) {
    const int b = blockIdx.x, last = gridDim.x - 1;
    if (b < last)
      while (flags[b + 1] == 0) {
      }
    __threadfence();
    values[b] = b == last ? 1 : values[b + 1] + 1;
    __threadfence();
    flags[b] = 1;
  }
}

__global__ void grid_sync(int* data, int* out) {
  const auto grid = cooperative_groups::this_grid();
  const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  data[i] = i;
  for (int round = 0; round < 3; ++round) {
    grid.sync();
    const int next = data[(i + 37) % n];
    grid.sync();
    data[i] = next + 1;
  }
  grid.sync();
  out[i] = data[n - 1 - i];
}

__global__ void odd_block_sizes(int* out) {
  const unsigned here = __ballot_sync(__activemask(), true);
  const int lane = threadIdx.x % 32;
  int sum = threadIdx.x;
  for (int step = 16; step > 0; step /= 2) {
    // A lane beyond the last one has nothing to give: ask oneself instead.
    const bool exists = lane + step < __popc(here);
    const int other = __shfl_sync(here, sum, exists ? lane + step : lane);
    if (exists) sum += other;
  }
  if (lane == 0) atomicAdd(out, sum);
}

template <typename Expected>
std::vector<int> reference(int n, Expected expected) {
  std::vector<int> all(n);
  for (int i = 0; i < n; ++i) all[i] = expected(i);
  return all;
}

// Loops that look at memory thousands of times and change nothing: they count, and come to an end.
__global__ void atomics_that_change_nothing(int* data, int* out) {
  int total = 0;
  for (int i = 0; i < 4000; ++i) total += atomicOr(data + (i % 8) * 32 + threadIdx.x, 0) + 1;
  out[blockIdx.x * 32 + threadIdx.x] = total;
}

__global__ void one_word_read_often(const int* data, int* out) {
  int total = 0;
  for (int i = 0; i < 100000; ++i) total += *static_cast<const volatile int*>(data) + 1;
  out[blockIdx.x * 32 + threadIdx.x] = total;
}

__global__ void polls_beside_warps_that_meet(int* out) {
  __shared__ volatile int ready;
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  if (threadIdx.x >= 64) {
    while (ready == 0) {
    }
  } else {
    // No store in it: nothing but the count of the loop changes from one meeting to the next.
    for (int i = 0; i < 30000; ++i) asm volatile("bar.sync 1, 64;" ::: "memory");
    __threadfence_block();
    if (threadIdx.x == 0) ready = 1;
  }
  out[threadIdx.x] = 1;
}

int main() {
  Report report("scheduling");
  DeviceBuffer<int> out(256);
  auto check = [&](const char* name, int n, const std::function<int(int)>& expected) {
    LAUNCHED_OK();
    std::vector<int> got = out.download();
    got.resize(n);
    report.equal(name, got, reference(n, expected));
  };
  out.fill_bytes(0);
  sync_from_both_sides<<<1, 64>>>(out.get());
  check("sync_from_both_sides", 64, expected_both_sides);
  groups_by_value<<<1, 64>>>(out.get());
  check("groups_by_value", 64, expected_groups);

  lock_inside_the_loop<<<4, 96>>>();
  lock_after_the_loop<<<4, 96>>>();
  LAUNCHED_OK();
  std::vector<int> counts(8);
  CUDA_OK(cudaMemcpyFromSymbol(counts.data(), guarded, 32));
  report.equal("locks", counts, std::vector<int>(8, 96));
  shared_lock<<<1, 96>>>(out.get());
  check("shared_lock", 96, [](int) { return 96 * 95 / 2; });

  early_exit_then_named_barrier<<<1, 128>>>(out.get());
  check("early_exit_then_named_barrier", 128, expected_early_exit);
  nested_divergence<<<1, 256>>>(out.get());
  check("nested_divergence", 256, [](int i) { return nested(i) + nested(i & ~31); });
  divergent_calls<<<1, 256>>>(out.get());
  check("divergent_calls", 256, expected_calls);
  named_barrier_pipeline<<<1, 64>>>(out.get(), 9);
  check("named_barrier_pipeline", 32, [](int i) { return 9 * 8 / 2 * 100 + 9 * (31 - i); });
  volatile_flag_between_warps<<<1, 64>>>(out.get());
  check("volatile_flag_between_warps", 32, [](int i) { return (31 - i) * 3; });

  DeviceBuffer<int> flags(200), values(200);
  flags.fill_bytes(0);
  chain_of_blocks<<<200, 32>>>(flags.get(), values.get());
  LAUNCHED_OK();
  std::vector<int> chain(200, 1);
  for (int b = 1; b < 200; ++b) chain[b] = (chain[b - 1] * 3 + b) % 1000003;
  report.equal("chain_of_blocks", values.download(), chain);
  flags.fill_bytes(0);
  chain_backwards<<<200, 32>>>(flags.get(), values.get());
  LAUNCHED_OK();
  report.equal("chain_backwards", values.download(), reference(200, [](int b) { return 200 - b; }));

  DeviceBuffer<int> data(256);
  int* data_pointer = data.get();
  int* out_pointer = out.get();
  void* arguments[] = {&data_pointer, &out_pointer};
  CUDA_OK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(grid_sync), dim3(8), dim3(32), arguments, 0,
                                      nullptr));
  check("grid_sync", 256, [](int i) { return (255 - i + 3 * 37) % 256 + 3; });

  data.fill_bytes(0);
  atomics_that_change_nothing<<<2, 32>>>(data.get(), out.get());
  check("atomics_that_change_nothing", 64, [](int) { return 4000; });
  one_word_read_often<<<2, 32>>>(data.get(), out.get());
  check("one_word_read_often", 64, [](int) { return 100000; });
  polls_beside_warps_that_meet<<<1, 96>>>(out.get());
  check("polls_beside_warps_that_meet", 96, [](int) { return 1; });

  for (const int threads : {1, 31, 33, 49, 57, 63}) {
    out.fill_bytes(0);
    odd_block_sizes<<<1, threads>>>(out.get());
    check("odd_block_sizes", 1, [&](int) { return threads * (threads - 1) / 2; });
  }
  return report.finish();
}
