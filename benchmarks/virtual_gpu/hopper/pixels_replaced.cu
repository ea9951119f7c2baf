// A kernel that makes tensor maps of the im2col kind itself: it takes a map of the host as a pattern and
// replaces address, sizes, strides, element strides and the channels of a pixel, which are the first
// dimension of the box.
#include "pixels.cuh"

using namespace hopper;

constexpr int kPixels = 24, kMostChannels = 16;

struct Image {
  const int* data;
  int channels, width, height, step;
};

__global__ void gather(const __grid_constant__ CUtensorMap pattern, Image image, CUtensorMap* map, int* out) {
  __shared__ __align__(128) CUtensorMap made;
  __shared__ __align__(128) int tile[kPixels * kMostChannels];
  __shared__ uint64_t barrier;
  const uint64_t row = static_cast<uint64_t>(image.channels) * 4 * image.width;
  if (threadIdx.x == 0) {
    made = pattern;
    const uint32_t to = shared_address(&made);
    asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(to),
                 "l"(image.data)
                 : "memory");
    asm volatile("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0], 0, %1;" ::"r"(to),
                 "r"(image.channels)
                 : "memory");
    asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 0, %1;" ::"r"(to),
                 "r"(image.channels)
                 : "memory");
    // The address of the others names no state space.
    asm volatile("tensormap.replace.tile.global_dim.b1024.b32 [%0], 1, %1;" ::"l"(&made), "r"(image.width)
                 : "memory");
    asm volatile("tensormap.replace.tile.global_dim.b1024.b32 [%0], 2, %1;" ::"l"(&made), "r"(image.height)
                 : "memory");
    asm volatile("tensormap.replace.tile.global_stride.b1024.b64 [%0], 0, %1;" ::"l"(&made),
                 "l"(static_cast<uint64_t>(image.channels) * 4)
                 : "memory");
    asm volatile("tensormap.replace.tile.global_stride.b1024.b64 [%0], 1, %1;" ::"l"(&made), "l"(row)
                 : "memory");
    asm volatile("tensormap.replace.tile.global_stride.b1024.b64 [%0], 2, %1;" ::"l"(&made),
                 "l"(row * image.height)
                 : "memory");
    asm volatile("tensormap.replace.tile.element_stride.b1024.b32 [%0], 1, %1;" ::"l"(&made), "r"(image.step)
                 : "memory");
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
  const int count = kPixels * image.channels;
  if (threadIdx.x == 0) {
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
    arrive_expect(&barrier, static_cast<uint32_t>(count) * 4);
    load_pixels_4d(tile, map, {{0, -1, -1, 0}}, 1, 2, &barrier);
  }
  wait(&barrier, 0);
  for (int i = threadIdx.x; i < count; i += blockDim.x) out[i] = tile[i];
}

void check(Report& report, Random& random, int channels, int width, int height, int step) {
  std::vector<int> values(static_cast<size_t>(channels) * width * height * 2), want;
  for (int& value : values) value = random.below(10000) + 1;
  // Pixels of a bounding box from -1 to the last but one, each loaded from 1 further along W and 2 along H.
  int x = -1, y = -1, n = 0;
  for (int pixel = 0; pixel < kPixels; ++pixel) {
    for (int c = 0; c < channels; ++c) {
      const int w = x + 1, h = y + 2;
      want.push_back(w < width && h < height && n < 2 ? values[((n * height + h) * width + w) * channels + c]
                                                      : 0);
    }
    x += step;
    if (x > width - 2) x = -1, ++y;
    if (y > height - 2) y = -1, ++n;
  }
  const DeviceBuffer<int> in(values), out(want.size());
  const DeviceBuffer<CUtensorMap> map(1);
  const CUtensorMap pattern = pixel_map({CU_TENSOR_MAP_DATA_TYPE_INT32, {4, 9, 9, 2}, {16, 144, 1296}},
                                        in.get(), {{-1, -1}, {-1, -1}, 4, kPixels});
  gather<<<1, 64>>>(pattern, {in.get(), channels, width, height, step}, map.get(), out.get());
  LAUNCHED_OK();
  report.equal("pixels", out.download(), want);
}

int main() {
  Report report("pixels_replaced");
  Random random(77);
  check(report, random, 4, 9, 9, 1);
  check(report, random, 8, 5, 4, 1);
  check(report, random, 16, 7, 3, 2);
  return report.finish();
}
