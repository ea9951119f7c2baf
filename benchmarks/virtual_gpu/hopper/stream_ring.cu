// Boxes through a ring in both directions: a producer warp loads, consumer warps compute in place, and a
// thread stores. A stage is filled again when its store has read it.
#include "tensor.cuh"

using namespace hopper;

constexpr int kRows = 16, kColumns = 32, kStages = 3, kConsumers = 96, kThreads = kConsumers + 32;

__global__ void transform(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to,
                          int boxes) {
  __shared__ __align__(1024) float box[kStages][kRows * kColumns];
  __shared__ uint64_t full[kStages], empty[kStages];
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      barrier_init(&full[s], 1);
      barrier_init(&empty[s], 1);
    }
    fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x >= kConsumers) {
    if (threadIdx.x != kConsumers) return;
    for (int i = 0; i < boxes; ++i) {
      const int s = i % kStages;
      wait(&empty[s], (i / kStages & 1) ^ 1);
      arrive_expect(&full[s], sizeof box[s]);
      load_box_2d(box[s], &from, 0, i * kRows, &full[s]);
    }
    return;
  }
  for (int i = 0; i < boxes; ++i) {
    const int s = i % kStages;
    wait(&full[s], i / kStages & 1);
    // In place: where an element lies does not matter to what is done to all of them.
    for (int k = threadIdx.x; k < kRows * kColumns; k += kConsumers)
      box[s][k] = box[s][k] * 2.0f + static_cast<float>(i);
    fence_async();
    asm volatile("bar.sync 1, %0;" ::"n"(kConsumers) : "memory");
    if (threadIdx.x == 0) {
      store_box_2d(&to, box[s], 0, i * kRows);
      commit();
      wait_reads<1>();  // the store before this one has read its stage
      if (i > 0) arrive(&empty[(i - 1) % kStages]);
    }
  }
  if (threadIdx.x == 0) wait_reads();
}

int main() {
  Report report("stream_ring");
  Random random(118);
  const int boxes = 10, rows = boxes * kRows - 5;  // the last box is not full
  std::vector<float> values(rows * kColumns), want(values.size());
  for (float& value : values) value = static_cast<float>(random.below(1000));
  for (size_t i = 0; i < values.size(); ++i)
    want[i] = values[i] * 2.0f + static_cast<float>(i / (kRows * kColumns));
  DeviceBuffer<float> in(values), out(values.size());
  auto map_of = [&](const DeviceBuffer<float>& buffer) {
    return tensor_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, buffer.get(), {kColumns, rows}, {kColumns * 4},
                      {kColumns, kRows}, CU_TENSOR_MAP_SWIZZLE_128B);
  };
  transform<<<1, kThreads>>>(map_of(in), map_of(out), boxes);
  LAUNCHED_OK();
  report.equal("transformed", out.download(), want);
  return report.finish();
}
