// Keys and values of new tokens go to scattered slots of a cache in one launch: rows staged with cp.async in
// two buffers, a warp per row, slots out of order and some tokens skipped.
#include "fragments.cuh"

constexpr int kWarps = 4, kRowBytes = 512, kChunks = kRowBytes / 16, kTokens = 45, kSlots = 80;
static_assert(kChunks == 32, "one 16-byte chunk a lane");

struct Rows {
  const char* source;
  char* cache;
  int64_t source_stride, cache_stride;  // in bytes
};

__device__ void start_copy(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}

__global__ void store(Rows keys, Rows values, const int32_t* slots, int tokens) {
  __shared__ uint4 stages[kWarps][2][kChunks];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, stride = gridDim.x * kWarps;
  // Even items are keys, odd ones values: item / 2 is the token.
  const auto fetch = [&](int item, int stage) {
    if (item < 2 * tokens) {
      const Rows& rows = item % 2 == 0 ? keys : values;
      start_copy(&stages[warp][stage][lane], rows.source + item / 2 * rows.source_stride + lane * 16);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  int item = blockIdx.x * kWarps + warp;
  fetch(item, 0);
  for (int stage = 0; item < 2 * tokens; item += stride, stage ^= 1) {
    fetch(item + stride, stage ^ 1);
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    // Each lane reads only the chunk it copied itself: its own wait is enough.
    const int32_t slot = slots[item / 2];
    const Rows& rows = item % 2 == 0 ? keys : values;
    const uint4 chunk = stages[warp][stage][lane];
    if (slot >= 0) *reinterpret_cast<uint4*>(rows.cache + slot * rows.cache_stride + lane * 16) = chunk;
  }
}

int main() {
  Report report("kv_store");
  Random random(40);
  // Keys and values are slices of one fused projection, hence the row stride.
  const int64_t source_stride = 3 * kRowBytes, cache_stride = kRowBytes + 32;
  std::vector<uint8_t> projected(kTokens * source_stride), keys(kSlots * cache_stride, 0xaa),
      values(keys.size(), 0xbb);
  for (uint8_t& byte : projected) byte = static_cast<uint8_t>(random.next32());
  std::vector<int32_t> slots(kTokens);
  for (int token = 0; token < kTokens; ++token) slots[token] = token % 11 == 5 ? -1 : token * 37 % kSlots;

  DeviceBuffer<uint8_t> projection(projected), key_cache(keys), value_cache(values);
  DeviceBuffer<int32_t> slot_input(slots);
  const char* base = reinterpret_cast<const char*>(projection.get());
  const Rows key_rows{base + kRowBytes, reinterpret_cast<char*>(key_cache.get()), source_stride,
                      cache_stride};
  const Rows value_rows{base + 2 * kRowBytes, reinterpret_cast<char*>(value_cache.get()), source_stride,
                        cache_stride};
  store<<<3, kWarps * 32>>>(key_rows, value_rows, slot_input.get(), kTokens);
  LAUNCHED_OK();
  for (int token = 0; token < kTokens; ++token) {
    if (slots[token] < 0) continue;
    for (int k = 0; k < kRowBytes; ++k) {
      keys[slots[token] * cache_stride + k] = projected[token * source_stride + kRowBytes + k];
      values[slots[token] * cache_stride + k] = projected[token * source_stride + 2 * kRowBytes + k];
    }
  }
  report.equal("keys", key_cache.download(), keys);
  report.equal("values", value_cache.download(), values);
  return report.finish();
}
