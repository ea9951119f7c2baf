// Two blocks of a cluster need the same pixels: each loads half of them, swizzled, for both.
#include "cluster.cuh"
#include "pixels.cuh"

using namespace hopper;

constexpr int kBlocks = 2, kChannels = 32, kPixels = 16, kHalfBytes = kPixels * kChannels * 4;

__global__ void __cluster_dims__(kBlocks, 1, 1)
    gather(const __grid_constant__ CUtensorMap map, At first, At second, int dx, float* out) {
  __shared__ __align__(1024) uint8_t tile[kBlocks][kHalfBytes];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
    arrive_expect(&barrier, kBlocks * kHalfBytes);
  }
  cluster_sync();
  const int rank = cluster_rank();
  if (threadIdx.x == 0) {
    const At at = rank == 0 ? first : second;
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8}, %9;" ::"r"(
            shared_address(tile[rank])),
        "l"(&map), "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]), "r"(at.c[3]), "r"(shared_address(&barrier)),
        "h"(static_cast<short>(dx)), "h"(static_cast<short>(1)), "h"(static_cast<short>(3))
        : "memory");
  }
  wait(&barrier, 0);
  constexpr int kFloats = kBlocks * kHalfBytes / 4;
  for (uint32_t i = threadIdx.x; i < kFloats; i += blockDim.x) {
    const uint8_t* from = tile[0] + swizzled(i * 4, 128);
    out[blockIdx.x * kFloats + i] = *reinterpret_cast<const float*>(from);
  }
  cluster_sync();
}

int main() {
  Report report("im2col_multicast");
  Random random(132);
  const int width = 6, height = 5, images = 2, dx = 2;
  std::vector<float> image(width * height * images * kChannels), want;
  for (float& value : image) value = random.uniform(-4, 4);
  // The bounding box is -1 to 4 along W and -1 to 3 along H, of which each row goes on in the next.
  const At starts[] = {{{0, -1, -1, 0}}, {{0, 2, 1, 1}}};
  for (const At& start : starts) {
    int x = start.c[1], y = start.c[2], n = start.c[3];
    for (int p = 0; p < kPixels; ++p) {
      const int from_x = x + dx, from_y = y + 1;
      const bool inside = from_x >= 0 && from_x < width && from_y >= 0 && from_y < height && n < images;
      for (int c = 0; c < kChannels; ++c)
        want.push_back(inside ? image[((n * height + from_y) * width + from_x) * kChannels + c] : 0.0f);
      if (++x <= 4) continue;
      x = -1;
      if (++y <= 3) continue;
      y = -1;
      ++n;
    }
  }
  want.insert(want.end(), want.begin(), want.end());
  DeviceBuffer<float> in(image), out(want.size());
  const TensorLayout layout{CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                            {kChannels, width, height, images},
                            {kChannels * 4, kChannels * 4 * width, kChannels * 4 * width * height},
                            CU_TENSOR_MAP_INTERLEAVE_NONE,
                            CU_TENSOR_MAP_SWIZZLE_128B};
  const CUtensorMap map = pixel_map(layout, in.get(), {{-1, -1}, {-1, -1}, kChannels, kPixels});
  gather<<<kBlocks, 64>>>(map, starts[0], starts[1], dx, out.get());
  LAUNCHED_OK();
  report.equal("both_blocks", out.download(), want);
  return report.finish();
}
