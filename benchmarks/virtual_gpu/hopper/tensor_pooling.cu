// Element strides: four boxes of every second row and column of an image give the average of 2 x 2 pixels.
#include "tensor.cuh"

using namespace hopper;

constexpr int kChannels = 8, kOut = 6;  // floats of a pixel; pixels of a result tile along each side

__global__ void pool(const __grid_constant__ CUtensorMap image, int width, int height, float* out) {
  __shared__ __align__(128) float tile[4][kOut * kOut * kChannels];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
  }
  __syncthreads();
  const int left = blockIdx.x * kOut, top = blockIdx.y * kOut;
  if (threadIdx.x == 0) {
    arrive_expect(&barrier, sizeof tile);
    for (int i = 0; i < 4; ++i)
      asm volatile(
          "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
          "[%1, {%2, %3, %4}], [%5];" ::"r"(shared_address(tile[i])),
          "l"(&image), "r"(0), "r"(left * 2 + i % 2), "r"(top * 2 + i / 2), "r"(shared_address(&barrier))
          : "memory");
  }
  wait(&barrier, 0);
  for (int i = threadIdx.x; i < kOut * kOut * kChannels; i += blockDim.x) {
    const int x = left + i / kChannels % kOut, y = top + i / kChannels / kOut;
    if (x >= width || y >= height) continue;
    out[(y * width + x) * kChannels + i % kChannels] =
        (tile[0][i] + tile[1][i] + tile[2][i] + tile[3][i]) * 0.25f;
  }
}

int main() {
  Report report("tensor_pooling");
  Random random(89);
  const int width = 20, height = 14, out_width = width / 2, out_height = height / 2;
  std::vector<float> image(width * height * kChannels), want(out_width * out_height * kChannels);
  for (float& value : image) value = static_cast<float>(random.below(256));
  for (int y = 0; y < out_height; ++y)
    for (int x = 0; x < out_width; ++x)
      for (int c = 0; c < kChannels; ++c) {
        auto pixel = [&](int dx, int dy) {
          return image[((2 * y + dy) * width + 2 * x + dx) * kChannels + c];
        };
        want[(y * out_width + x) * kChannels + c] =
            (pixel(0, 0) + pixel(1, 0) + pixel(0, 1) + pixel(1, 1)) * 0.25f;
      }
  DeviceBuffer<float> in(image), out(want.size());
  // A box of 11 elements with a stride of 2 has 6 of them.
  const CUtensorMap map =
      tensor_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, in.get(), {kChannels, width, height},
                 {kChannels * 4, kChannels * 4 * width}, {kChannels, 2 * kOut - 1, 2 * kOut - 1},
                 CU_TENSOR_MAP_SWIZZLE_NONE, {1, 2, 2});
  const dim3 grid(blocks_for(out_width, kOut), blocks_for(out_height, kOut));
  pool<<<grid, 64>>>(map, out_width, out_height, out.get());
  LAUNCHED_OK();
  report.equal("pooled", out.download(), want);
  return report.finish();
}
