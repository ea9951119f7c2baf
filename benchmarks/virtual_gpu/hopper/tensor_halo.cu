// A 3 x 3 filter over an image: the box is wider than its tile by the neighbours, and the hardware fills what
// lies outside of the image with zeros.
#include "tensor.cuh"

using namespace hopper;

constexpr int kTile = 16, kHalo = 4, kWidth = kTile + 2 * kHalo, kHeight = kTile + 2;  // ints

__global__ void filter(const __grid_constant__ CUtensorMap image, int width, int height, int* out) {
  __shared__ __align__(128) int box[kHeight][kWidth];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
  }
  __syncthreads();
  const int left = blockIdx.x * kTile, top = blockIdx.y * kTile;
  if (threadIdx.x == 0) {
    arrive_expect(&barrier, sizeof box);
    // The box begins at a multiple of 16 bytes, so it takes four columns more on each side, not one.
    load_box_2d(box, &image, left - kHalo, top - 1, &barrier);
  }
  wait(&barrier, 0);
  for (int i = threadIdx.x; i < kTile * kTile; i += blockDim.x) {
    const int x = i % kTile, y = i / kTile;
    if (left + x >= width || top + y >= height) continue;
    int sum = 0;
    for (int dy = 0; dy < 3; ++dy)
      for (int dx = 0; dx < 3; ++dx) sum += box[y + dy][x + kHalo - 1 + dx] * (dy * 3 + dx + 1);
    out[(top + y) * width + left + x] = sum;
  }
}

int main() {
  Report report("tensor_halo");
  Random random(92);
  const int width = 40, height = 35;
  std::vector<int> image(width * height), want(width * height);
  for (int& value : image) value = random.below(256);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
          const bool inside = x + dx >= 0 && x + dx < width && y + dy >= 0 && y + dy < height;
          if (inside) want[y * width + x] += image[(y + dy) * width + x + dx] * ((dy + 1) * 3 + dx + 2);
        }
  DeviceBuffer<int> in(image), out(image.size());
  const CUtensorMap map =
      tensor_map(CU_TENSOR_MAP_DATA_TYPE_INT32, in.get(), {width, height}, {width * 4}, {kWidth, kHeight});
  filter<<<dim3(blocks_for(width, kTile), blocks_for(height, kTile)), 128>>>(map, width, height, out.get());
  LAUNCHED_OK();
  report.equal("filtered", out.download(), want);
  return report.finish();
}
