// Bulk and tensor copies with a cache policy, prefetches into L2, and policies of every kind: none of them
// changes an answer.
#include "tensor.cuh"

using namespace hopper;

constexpr int kRows = 8, kColumns = 32, kTile = kRows * kColumns;

__device__ uint64_t policy(int which) {
  uint64_t made;
  if (which == 0) asm volatile("createpolicy.fractional.L2::evict_first.b64 %0;" : "=l"(made));
  if (which == 1) asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(made));
  if (which == 2)
    asm volatile("createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %0, 0.5;" : "=l"(made));
  if (which == 3) asm volatile("createpolicy.fractional.L2::evict_normal.b64 %0;" : "=l"(made));
  return made;
}

__global__ void hinted(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to,
                       const int* in, int* out) {
  __shared__ __align__(128) int box[kTile], line[kTile];
  __shared__ uint64_t barrier;
  if (threadIdx.x != 0) return;
  const int row = blockIdx.x * kRows;
  barrier_init(&barrier, 1);
  fence_barrier_init();
  asm volatile("prefetch.tensormap [%0];" ::"l"(&from) : "memory");
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(&from), "r"(0),
               "r"(row)
               : "memory");
  const uint64_t hint = policy(blockIdx.x % 4);
  asm volatile("cp.async.bulk.prefetch.L2.global.L2::cache_hint [%0], %1, %2;" ::"l"(in + row * kColumns),
               "r"(static_cast<uint32_t>(sizeof line)), "l"(hint)
               : "memory");
  arrive_expect(&barrier, sizeof box + sizeof line);
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
      "[%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(box)),
      "l"(&from), "r"(0), "r"(row), "r"(shared_address(&barrier)), "l"(hint)
      : "memory");
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, "
      "[%3], %4;" ::"r"(shared_address(line)),
      "l"(in + row * kColumns), "r"(static_cast<uint32_t>(sizeof line)), "r"(shared_address(&barrier)),
      "l"(hint)
      : "memory");
  wait(&barrier, 0);
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group.L2::cache_hint [%0, {%1, %2}], [%3], %4;" ::"l"(
          &to),
      "r"(0), "r"(row), "r"(shared_address(box)), "l"(hint)
      : "memory");
  asm volatile(
      "cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.add.s32 [%0], [%1], %2, %3;" ::"l"(
          out + row * kColumns),
      "r"(shared_address(line)), "r"(static_cast<uint32_t>(sizeof line)), "l"(hint)
      : "memory");
  commit();
  wait_writes();
}

int main() {
  Report report("cache_hints");
  Random random(86);
  const int blocks = 4, count = blocks * kTile;
  std::vector<int> values(count), want(count);
  for (int& value : values) value = random.below(1000);
  for (int& value : want) value = random.below(1000);
  DeviceBuffer<int> in(values), out(want), copy(count);
  const std::vector<cuuint64_t> sizes = {kColumns, blocks * kRows}, strides = {kColumns * 4};
  const CUtensorMap from =
      tensor_map(CU_TENSOR_MAP_DATA_TYPE_INT32, in.get(), sizes, strides, {kColumns, kRows});
  const CUtensorMap to =
      tensor_map(CU_TENSOR_MAP_DATA_TYPE_INT32, copy.get(), sizes, strides, {kColumns, kRows});
  hinted<<<blocks, 32>>>(from, to, in.get(), out.get());
  LAUNCHED_OK();
  for (int i = 0; i < count; ++i) want[i] += values[i];
  report.equal("copied", copy.download(), values);
  report.equal("added", out.download(), want);
  return report.finish();
}
