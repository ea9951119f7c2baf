// cudaMallocPitch gives the row pitch in bytes; the kernel multiplies it into a float index, so rows are
// four times too far apart and most of them lie past the end.
#include "verdict.cuh"

__global__ void invert(float* image, size_t pitch, int width, int height) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column >= width || row >= height) return;
#ifdef FIXED
  float* pixel = reinterpret_cast<float*>(reinterpret_cast<char*>(image) + row * pitch) + column;
#else
  float* pixel = image + row * pitch + column;
#endif
  *pixel = 8.0f - *pixel;  // expect: memory
}

int main() {
  const int width = 40, height = 24;
  const std::vector<float> image = small_numbers(width * height);
  float* device_image = nullptr;
  size_t pitch = 0;
  cudaMallocPitch(&device_image, &pitch, width * sizeof(float), height);
  cudaMemset2D(device_image, pitch, 0, pitch, height);
  cudaMemcpy2D(device_image, pitch, image.data(), width * sizeof(float), width * sizeof(float), height,
               cudaMemcpyHostToDevice);
  invert<<<dim3(2, 3), dim3(32, 8)>>>(device_image, pitch, width, height);
  std::vector<float> inverted(width * height);
  cudaMemcpy2D(inverted.data(), width * sizeof(float), device_image, pitch, width * sizeof(float), height,
               cudaMemcpyDeviceToHost);
  bool right = true;
  for (int i = 0; i < width * height; ++i) right = right && inverted[i] == 8.0f - image[i];
  cudaFree(device_image);
  return verdict(right);
}
