// Rows convolved with a kernel in constant memory, whole numbers, borders repeated.
#include <algorithm>

#include "../programs/check.cuh"

constexpr int kRadius = 4, kWidth = 150, kRows = 9;
__constant__ int weights[2 * kRadius + 1];

__global__ void convolve(const short* in, int* out) {
  __shared__ short tile[64 + 2 * kRadius];
  const int row = blockIdx.y, first = blockIdx.x * 64;
  for (int i = threadIdx.x; i < 64 + 2 * kRadius; i += 64)
    tile[i] = in[row * kWidth + min(max(first + i - kRadius, 0), kWidth - 1)];
  __syncthreads();
  const int x = first + threadIdx.x;
  if (x >= kWidth) return;
  int sum = 0;
  for (int i = 0; i <= 2 * kRadius; ++i) sum += weights[i] * tile[threadIdx.x + i];
  out[row * kWidth + x] = sum;
}

int main() {
  Report report("convolution_row");
  Random random(54);
  std::vector<int> kernel(2 * kRadius + 1), want;
  std::vector<short> image(kWidth * kRows);
  for (int& weight : kernel) weight = random.below(21) - 10;
  for (short& pixel : image) pixel = static_cast<short>(random.below(2000) - 1000);
  for (int row = 0; row < kRows; ++row)
    for (int x = 0; x < kWidth; ++x) {
      int sum = 0;
      for (int i = -kRadius; i <= kRadius; ++i)
        sum += kernel[i + kRadius] * image[row * kWidth + std::min(std::max(x + i, 0), kWidth - 1)];
      want.push_back(sum);
    }
  CUDA_OK(cudaMemcpyToSymbol(weights, kernel.data(), sizeof weights));
  DeviceBuffer<short> input(image);
  DeviceBuffer<int> output(kWidth * kRows);
  convolve<<<dim3(blocks_for(kWidth, 64), kRows), 64>>>(input.get(), output.get());
  LAUNCHED_OK();
  report.equal("sums", output.download(), want);
  return report.finish();
}
