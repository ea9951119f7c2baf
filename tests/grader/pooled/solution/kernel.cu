// Two blocks for each row leave their sums in scratch; the later one adds them and restores the counter.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

struct Rows {
  const __half* values;
  float* out;
  int64_t groups;
};

struct Numbers {
  const int* source;
  int* target;
  int64_t count;
};

namespace {

constexpr int kLanes = 8, kParts = 2;

__global__ void pool(Rows rows, float* scratch, int* counters) {
  const int row = blockIdx.x, part = blockIdx.y, lane = threadIdx.x;
  const __half* values = rows.values + row * rows.groups * kLanes;
  const int64_t middle = (rows.groups + 1) / 2;
  const int64_t begin = part == 0 ? 0 : middle, end = part == 0 ? middle : rows.groups;
  float sum = 0;
  for (int64_t g = begin; g < end; ++g) sum += __half2float(values[g * kLanes + lane]);
  float* mine = scratch + (row * kParts + part) * kLanes;
  mine[lane] = sum;
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (lane == 0) last = atomicAdd(&counters[row], 1) == kParts - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  const float* parts = scratch + row * kParts * kLanes;
  rows.out[row * kLanes + lane] = __ldcg(&parts[lane]) + __ldcg(&parts[kLanes + lane]);
  if (lane == 0) counters[row] = 0;
}

__global__ void double_them(Numbers numbers) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < numbers.count) numbers.target[i] = 2 * numbers.source[i];
}

}  // namespace

extern "C" int double_all(const Numbers* numbers, cudaStream_t stream) {
  double_them<<<(numbers->count + 255) / 256, 256, 0, stream>>>(*numbers);
  return cudaGetLastError();
}

extern "C" int pool_rows(const Rows* rows, float* scratch, int* counters, int count, cudaStream_t stream) {
  pool<<<dim3(count, kParts), kLanes, 0, stream>>>(*rows, scratch, counters);
  return cudaGetLastError();
}
