// Private arrays that cannot live in registers because their index is only known at run time. Lanes that use
// the same index touch neighbouring words; lanes that do not, scatter.
#include "buffers.cuh"

constexpr int kThreads = 128;
constexpr int kBlocks = 32;
constexpr int kSlots = 16;

__global__ void same_index(const int* order, int* out) {
  int slots[kSlots];
  const int i = blockIdx.x * kThreads + threadIdx.x;
#pragma unroll 1
  for (int k = 0; k < kSlots; ++k) slots[order[k] % kSlots] = i + k;
  int sum = 0;
#pragma unroll 1
  for (int k = 0; k < kSlots; ++k) sum = 3 * sum + slots[order[k + kSlots] % kSlots];
  out[i] = sum;
}

__global__ void index_by_lane(const int* order, int* out) {
  int slots[kSlots];
  const int i = blockIdx.x * kThreads + threadIdx.x;
#pragma unroll 1
  for (int k = 0; k < kSlots; ++k) slots[(order[k] + threadIdx.x) % kSlots] = i + k;
  int sum = 0;
#pragma unroll 1
  for (int k = 0; k < kSlots; ++k) sum = 3 * sum + slots[(order[k] + threadIdx.x / 4) % kSlots];
  out[i] = sum;
}

__global__ void wide_elements(const int* order, float4* out) {
  float4 slots[kSlots];
  const int i = blockIdx.x * kThreads + threadIdx.x;
  const float value = static_cast<float>(threadIdx.x);
#pragma unroll 1
  for (int k = 0; k < kSlots; ++k) slots[order[k] % kSlots] = make_float4(value, value, value + k, value);
  float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 1
  for (int k = 0; k < kSlots; ++k) {
    const float4 v = slots[order[k + kSlots] % kSlots];
    sum = make_float4(sum.x + v.x, sum.y + v.y, sum.z + v.z, sum.w + v.w);
  }
  out[i] = sum;
}

int main() {
  std::vector<int> order(2 * kSlots);
  for (int k = 0; k < 2 * kSlots; ++k) order[k] = 5 * k % kSlots;
  int* device_order = to_device(order);
  float4* out = device_buffer<float4>(kThreads * kBlocks);
  same_index<<<kBlocks, kThreads>>>(device_order, reinterpret_cast<int*>(out));
  index_by_lane<<<kBlocks, kThreads>>>(device_order, reinterpret_cast<int*>(out));
  wide_elements<<<kBlocks, kThreads>>>(device_order, out);
  return finish({device_order, out});
}
