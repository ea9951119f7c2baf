// A 3 x 3 convolution, channel by channel, whose nine shifted images are nine copies of the im2col kind: the
// offsets name the shift, and what lies outside of the image comes as zeros. The result is stored pixel by
// pixel, too.
#include "pixels.cuh"

using namespace hopper;

constexpr int kChannels = 8, kPixels = 32, kTaps = 9;

struct Shape {
  int width, height, images, step, out_width, out_height;
};

__device__ At place_of(int pixel, const Shape& s, int step, int first) {
  return {{0, pixel % s.out_width * step + first, pixel / s.out_width % s.out_height * step + first,
           pixel / s.out_width / s.out_height}};
}

__global__ void convolve(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out,
                         const float* weights, Shape s) {
  __shared__ __align__(128) float taps[kTaps][kPixels * kChannels], result[kPixels * kChannels];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
  }
  __syncthreads();
  const int first = static_cast<int>(blockIdx.x) * kPixels;
  if (threadIdx.x == 0) {
    arrive_expect(&barrier, sizeof taps);
    for (int t = 0; t < kTaps; ++t)
      load_pixels_4d(taps[t], &in, place_of(first, s, s.step, -1), t % 3, t / 3, &barrier);
  }
  wait(&barrier, 0);
  for (int i = static_cast<int>(threadIdx.x); i < kPixels * kChannels; i += static_cast<int>(blockDim.x)) {
    float sum = 0;
    for (int t = 0; t < kTaps; ++t) sum += taps[t][i] * weights[t * kChannels + i % kChannels];
    result[i] = sum;
  }
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    store_pixels_4d(&out, result, place_of(first, s, 1, 0));
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

TensorLayout floats(int width, int height, int images) {
  const auto w = static_cast<cuuint64_t>(width), h = static_cast<cuuint64_t>(height);
  return {CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
          {kChannels, w, h, static_cast<cuuint64_t>(images)},
          {kChannels * 4, kChannels * 4 * w, kChannels * 4 * w * h}};
}

void check(Report& report, Random& random, const char* name, int step) {
  Shape s{10, 7, 3, step, 0, 0};
  s.out_width = (s.width - 1) / step + 1;
  s.out_height = (s.height - 1) / step + 1;
  std::vector<float> image(static_cast<size_t>(s.width * s.height * s.images * kChannels));
  std::vector<float> weights(kTaps * kChannels);
  std::vector<float> want(static_cast<size_t>(s.out_width * s.out_height * s.images * kChannels));
  for (float& value : image) value = static_cast<float>(random.below(64));
  for (float& value : weights) value = static_cast<float>(random.below(9) - 4);
  for (size_t i = 0; i < want.size(); ++i) {
    const int c = static_cast<int>(i) % kChannels, pixel = static_cast<int>(i) / kChannels;
    const int x = pixel % s.out_width, y = pixel / s.out_width % s.out_height,
              n = pixel / s.out_width / s.out_height;
    for (int t = 0; t < kTaps; ++t) {
      const int from_x = x * step + t % 3 - 1, from_y = y * step + t / 3 - 1;
      if (from_x < 0 || from_x >= s.width || from_y < 0 || from_y >= s.height) continue;
      const int from = ((n * s.height + from_y) * s.width + from_x) * kChannels + c;
      want[i] += image[static_cast<size_t>(from)] * weights[static_cast<size_t>(t * kChannels + c)];
    }
  }
  DeviceBuffer<float> device_image(image), device_weights(weights), out(want.size());
  // The bounding box is that of the upper left taps: one left of and above the first pixel to the last
  // result's.
  auto end = [&](int size, int results) { return -1 + (results - 1) * step - (size - 1); };
  const auto steps = static_cast<cuuint32_t>(step);
  const CUtensorMap from = pixel_map(floats(s.width, s.height, s.images), device_image.get(),
                                     {{-1, -1},
                                      {end(s.width, s.out_width), end(s.height, s.out_height)},
                                      kChannels,
                                      kPixels,
                                      {1, steps, steps}});
  const CUtensorMap to =
      pixel_map(floats(s.out_width, s.out_height, s.images), out.get(), {{0, 0}, {0, 0}, kChannels, kPixels});
  const int pixels = s.out_width * s.out_height * s.images;
  convolve<<<blocks_for(pixels, kPixels), 128>>>(from, to, device_weights.get(), s);
  LAUNCHED_OK();
  report.equal(name, out.download(), want);
}

int main() {
  Report report("im2col_convolution");
  Random random(131);
  check(report, random, "every_pixel", 1);
  check(report, random, "every_second_pixel", 2);
  return report.finish();
}
