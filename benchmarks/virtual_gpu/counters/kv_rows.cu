// Rows of new keys and values go to scattered slots of a cache, as a server does after each step: one warp a
// row with 16-byte accesses, one warp a row with 4-byte accesses, and through cp.async.
#include <cuda_pipeline.h>

#include "buffers.cuh"

constexpr int kTokens = 128;
constexpr int kSlots = 512;
constexpr int kRowBytes = 1024;
constexpr int kWarps = 4;

template <typename T>
__global__ void store_rows(const T* rows, const uint32_t* slots, T* cache) {
  constexpr int kPerRow = kRowBytes / sizeof(T);
  const int token = blockIdx.x * kWarps + threadIdx.x / 32;
  const T* row = rows + token * kPerRow;
  T* slot = cache + slots[token] * kPerRow;
  for (int i = threadIdx.x % 32; i < kPerRow; i += 32) slot[i] = row[i];
}

__global__ void store_rows_async(const uint4* rows, const uint32_t* slots, uint4* cache) {
  constexpr int kPerRow = kRowBytes / sizeof(uint4);
  __shared__ uint4 staged[kWarps][kPerRow];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int token = blockIdx.x * kWarps + warp;
  for (int i = lane; i < kPerRow; i += 32) {
    __pipeline_memcpy_async(&staged[warp][i], &rows[token * kPerRow + i], sizeof(uint4));
  }
  __pipeline_commit();
  uint4* slot = cache + slots[token] * kPerRow;
  __pipeline_wait_prior(0);
  for (int i = lane; i < kPerRow; i += 32) slot[i] = staged[warp][i];
}

int main() {
  std::vector<uint32_t> order(kTokens);
  for (int i = 0; i < kTokens; ++i) order[i] = 37u * i % kSlots;
  uint32_t* slots = to_device(order);
  char* rows = device_bytes(kTokens * kRowBytes);
  char* cache = device_bytes(kSlots * kRowBytes);
  const int blocks = kTokens / kWarps, threads = 32 * kWarps;
  store_rows<<<blocks, threads>>>(reinterpret_cast<float*>(rows), slots, reinterpret_cast<float*>(cache));
  store_rows<<<blocks, threads>>>(reinterpret_cast<uint4*>(rows), slots, reinterpret_cast<uint4*>(cache));
  store_rows_async<<<blocks, threads>>>(reinterpret_cast<uint4*>(rows), slots,
                                        reinterpret_cast<uint4*>(cache));
  return finish({slots, rows, cache});
}
