// Steps of the Mandelbrot iteration in fixed point: loops of very different lengths in one warp.
#include "../programs/check.cuh"

constexpr int kWidth = 48, kHeight = 24, kMost = 60, kBits = 12;

__host__ __device__ int steps(int column, int row) {
  const int cx = (column * 3 << kBits) / kWidth - (2 << kBits),
            cy = (row * 2 << kBits) / kHeight - (1 << kBits);
  int x = 0, y = 0, n = 0;
  while (n < kMost && ((x * x + y * y) >> kBits) < 4 << kBits) {
    const int next = ((x * x - y * y) >> kBits) + cx;
    y = ((2 * x * y) >> kBits) + cy;
    x = next;
    ++n;
  }
  return n;
}

__global__ void image(int* out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < kWidth) out[y * kWidth + x] = steps(x, y);
}

int main() {
  Report report("fixed_point_mandelbrot");
  DeviceBuffer<int> output(kWidth * kHeight);
  image<<<dim3(2, kHeight), 32>>>(output.get());
  LAUNCHED_OK();
  std::vector<int> want;
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) want.push_back(steps(x, y));
  report.equal("steps", output.download(), want);
  return report.finish();
}
