// A kernel replaces the second dimension of the box in a map of the im2col kind, which has no such box: the
// corners of its bounding box lie there.
#include "../hopper/pixels.cuh"
#include "fault.cuh"

using namespace hopper;

constexpr int kChannels = 4, kCount = 8, kWidth = 8, kFirst = 2;

__global__ void kernel(const __grid_constant__ CUtensorMap pattern, CUtensorMap* map, int* out) {
  __shared__ __align__(128) CUtensorMap made;
  __shared__ __align__(128) int tile[kCount * kChannels];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    made = pattern;
#ifndef FIXED
    const uint32_t to = shared_address(&made);
    asm volatile(
        "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0], 1, 2;" ::"r"(to)  // expect: memory
        : "memory");
#endif
    barrier_init(&barrier, 1);
    fence_barrier_init();
  }
  __syncwarp();
  if (threadIdx.x < 32)
    asm volatile(
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], "
        "128;" ::"l"(map),
        "r"(shared_address(&made))
        : "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
    arrive_expect(&barrier, sizeof tile);
    load_pixels_4d(tile, map, {{0, kFirst, 0, 0}}, 0, 0, &barrier);
  }
  wait(&barrier, 0);
  for (int i = threadIdx.x; i < kCount * kChannels; i += blockDim.x) out[i] = tile[i];
}

int main() {
  std::vector<int> values(kChannels * kWidth * 2);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i) + 1;
  int* in = to_device(values);
  int* out = device_zeros<int>(kCount * kChannels);
  CUtensorMap* map = nullptr;
  cudaMalloc(&map, sizeof *map);
  const CUtensorMap pattern = pixel_map({CU_TENSOR_MAP_DATA_TYPE_INT32,
                                         {kChannels, kWidth, 2, 1},
                                         {kChannels * 4, kChannels * 4 * kWidth, kChannels * 8 * kWidth}},
                                        in, {{0, 0}, {0, 0}, kChannels, kCount});
  kernel<<<1, 64>>>(pattern, map, out);
  const std::vector<int> got = to_host(out, kCount * kChannels);
  bool right = true;
  for (int i = 0; i < kCount * kChannels; ++i) right = right && got[i] == i + kFirst * kChannels + 1;
  cudaFree(in);
  cudaFree(out);
  cudaFree(map);
  return verdict(right);
}
