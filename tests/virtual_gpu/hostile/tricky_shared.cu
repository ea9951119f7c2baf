// Correct uses of shared memory that look suspicious: neighbours in one word, views of other types, reuse,
// locks, atomics beside barriers, asynchronous copies in stages. No finding may come of any of them.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include <functional>
#include <vector>

#include "../../../benchmarks/virtual_gpu/programs/check.cuh"

__global__ void neighbours_in_a_word(int* out) {
  __shared__ half halves[128];
  __shared__ unsigned char bytes[128];
  const int i = threadIdx.x;
  halves[i] = __int2half_rn(i);
  bytes[i] = static_cast<unsigned char>(i * 3);
  __syncthreads();
  out[i] = __half2int_rn(halves[127 - i]) * 1000 + bytes[(i + 1) % 128];
  __syncthreads();
  bytes[i ^ 1] = static_cast<unsigned char>(i);
  __syncwarp();
  out[i] += bytes[i] * 1000000;
}

__global__ void views_of_one_array(int* out) {
  __shared__ alignas(16) float data[512];
  const int i = threadIdx.x;
  reinterpret_cast<float4*>(data)[i] = make_float4(4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3);
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 4; ++k) sum += data[k * 128 + i];
  const float2 pair = reinterpret_cast<const float2*>(data)[i];
  const unsigned short low = reinterpret_cast<const unsigned short*>(data)[2 * i];
  __syncthreads();
  reinterpret_cast<double*>(data)[i] = i;
  __syncthreads();
  out[i] = static_cast<int>(sum + pair.x + pair.y + low + reinterpret_cast<const double*>(data)[127 - i]);
}

int expected_views(int i) {
  float sum = 0;
  for (int k = 0; k < 4; ++k) sum += k * 128 + i;
  const float first = static_cast<float>(i);
  return static_cast<int>(sum + 2 * i + 2 * i + 1 + (bit_cast<uint32_t>(first) & 0xffff) + (127 - i));
}

union Words {
  int words[128];
  short shorts[256];
  struct {
    char tags[128];
    int numbers[64];
  } both;
};

__global__ void reused_with_other_types(int* out) {
  __shared__ Words box;
  const int i = threadIdx.x;
  box.words[i] = i * 65537;
  __syncthreads();
  const int a = box.shorts[2 * (127 - i)];
  __syncthreads();
  box.both.tags[i] = static_cast<char>(i % 100);
  if (i < 64) box.both.numbers[i] = i;
  __syncthreads();
  const int b = box.both.tags[(i + 5) % 128] + box.both.numbers[i % 64];
  __syncthreads();
  for (int k = i; k < 256; k += blockDim.x) box.shorts[k] = 0;
  __syncthreads();
  out[i] = a * 1000 + b + box.words[127 - i];
}

__global__ void atomics_and_barriers(int* out) {
  __shared__ int bins[32], next, order[128];
  const int i = threadIdx.x;
  for (int k = i; k < 32; k += blockDim.x) bins[k] = 0;
  if (i == 0) next = 0;
  __syncthreads();
  atomicAdd(&bins[i % 7], 1);
  const int ticket = atomicAdd(&next, 1);
  order[ticket] = 1;
  __syncthreads();
  out[i] = bins[i % 7] + order[127 - i] * 100 + next * 1000;
  __syncthreads();
  if (i < 32) bins[i] = i;
  __syncthreads();
  atomicMax(&bins[i % 32], i);
  __syncthreads();
  out[i] += bins[i % 32] * 1000000;
}

__global__ void warp_aggregated(int* counter, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i % 3 != 0) return;
  const unsigned active = __activemask();
  const int lane = threadIdx.x % 32, leader = __ffs(active) - 1;
  int base = 0;
  if (lane == leader) base = atomicAdd(counter, __popc(active));
  base = __shfl_sync(active, base, leader);
  out[base + __popc(active & ((1u << lane) - 1))] = 1;
}

template <int Stages>
__global__ void async_stages(const float* in, float* out, int tiles) {
  __shared__ alignas(16) float stage[Stages][128];
  const int i = threadIdx.x;
  auto fetch = [&](int tile) {
    if (tile < tiles && i < 32)
      __pipeline_memcpy_async(&stage[tile % Stages][4 * i], in + tile * 128 + 4 * i, 16);
    __pipeline_commit();
  };
  for (int tile = 0; tile < Stages - 1; ++tile) fetch(tile);
  float sum = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    fetch(tile + Stages - 1);
    __pipeline_wait_prior(Stages - 1);
    __syncthreads();
    sum += stage[tile % Stages][127 - i];
    __syncthreads();
  }
  out[i] = sum;
}

__global__ void async_zero_fill(const float* in, float* out, int n) {
  __shared__ alignas(16) float tile[128];
  const int i = threadIdx.x;
  if (i < 32) {
    const int first = 4 * i, valid = min(max(n - first, 0), 4);
    __pipeline_memcpy_async(&tile[first], in + (valid > 0 ? first : 0), 16, 16 - 4 * valid);
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[i] = tile[127 - i];
}

// Warps 0 and 1 copy asynchronously, the other four compute; named barriers say full and empty.
__global__ void specialised_warps(const float* in, float* out, int tiles) {
  __shared__ alignas(16) float stage[2][256];
  const int i = threadIdx.x;
  if (i < 64) {
    for (int tile = 0; tile < tiles; ++tile) {
      const int s = tile % 2;
      if (tile >= 2) asm volatile("bar.sync %0, 192;" ::"r"(3 + s) : "memory");
      __pipeline_memcpy_async(&stage[s][4 * i], in + tile * 256 + 4 * i, 16);
      __pipeline_commit();
      __pipeline_wait_prior(0);
      asm volatile("bar.arrive %0, 192;" ::"r"(1 + s) : "memory");
    }
  } else {
    float sum = 0;
    for (int tile = 0; tile < tiles; ++tile) {
      const int s = tile % 2;
      asm volatile("bar.sync %0, 192;" ::"r"(1 + s) : "memory");
      sum += stage[s][i - 64] + stage[s][319 - i];
      if (tile + 2 < tiles) asm volatile("bar.arrive %0, 192;" ::"r"(3 + s) : "memory");
    }
    out[i - 64] = sum;
  }
}

__global__ void partial_block(const int* in, int* out, int n) {
  __shared__ int box[64];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  box[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  if (i < n) out[i] = box[blockDim.x - 1 - threadIdx.x];
}

int main() {
  Report report("tricky_shared");
  DeviceBuffer<int> out(256);
  auto check = [&](const char* name, int n, const std::function<int(int)>& expected) {
    LAUNCHED_OK();
    std::vector<int> got = out.download(), want(n);
    got.resize(n);
    for (int i = 0; i < n; ++i) want[i] = expected(i);
    report.equal(name, got, want);
  };
  out.fill_bytes(0);
  neighbours_in_a_word<<<1, 128>>>(out.get());
  check("neighbours", 128,
        [](int i) { return (127 - i) * 1000 + (i + 1) % 128 * 3 % 256 + (i ^ 1) * 1000000; });
  views_of_one_array<<<1, 128>>>(out.get());
  check("views", 128, expected_views);
  reused_with_other_types<<<1, 128>>>(out.get());
  check("reused", 128, [](int i) { return (127 - i) * 1000 + (i + 5) % 128 % 100 + i % 64; });
  atomics_and_barriers<<<1, 128>>>(out.get());
  check("atomics", 128,
        [](int i) { return 128 / 7 + (i % 7 < 128 % 7) + 100 + 128000 + (96 + i % 32) * 1000000; });
  DeviceBuffer<int> counter(1);
  counter.fill_bytes(0);
  out.fill_bytes(0);
  warp_aggregated<<<2, 96>>>(counter.get(), out.get());
  check("aggregated", 256, [](int i) { return i < 64 ? 1 : 0; });

  constexpr int kTiles = 9;
  std::vector<float> input(kTiles * 256);
  for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i % 97);
  DeviceBuffer<float> in(input), sums(128);
  auto check_sums = [&](const char* name, const std::function<float(int)>& expected) {
    LAUNCHED_OK();
    std::vector<float> want(128);
    for (int i = 0; i < 128; ++i) want[i] = expected(i);
    report.equal(name, sums.download(), want);
  };
  auto column = [&](int i) {
    float sum = 0;
    for (int tile = 0; tile < kTiles; ++tile) sum += input[tile * 128 + 127 - i];
    return sum;
  };
  sums.fill_bytes(0);
  async_stages<2><<<1, 128>>>(in.get(), sums.get(), kTiles);
  check_sums("two stages", column);
  async_stages<3><<<1, 128>>>(in.get(), sums.get(), kTiles);
  check_sums("three stages", column);
  async_stages<4><<<1, 128>>>(in.get(), sums.get(), kTiles);
  check_sums("four stages", column);
  DeviceBuffer<float> few(std::vector<float>(input.begin(), input.begin() + 77));
  async_zero_fill<<<1, 128>>>(few.get(), sums.get(), 77);
  check_sums("zero fill", [&](int i) { return 127 - i < 77 ? input[127 - i] : 0.0f; });
  specialised_warps<<<1, 192>>>(in.get(), sums.get(), kTiles);
  check_sums("specialised warps", [&](int i) {
    float sum = 0;
    for (int tile = 0; tile < kTiles; ++tile) sum += input[tile * 256 + i] + input[tile * 256 + 255 - i];
    return sum;
  });

  std::vector<int> numbers(77);
  for (int i = 0; i < 77; ++i) numbers[i] = i + 1;
  DeviceBuffer<int> source(numbers);
  partial_block<<<2, 50>>>(source.get(), out.get(), 77);
  check("partial block", 77, [](int i) {
    const int from = i / 50 * 50 + 49 - i % 50;
    return from < 77 ? from + 1 : 0;
  });
  return report.finish();
}
