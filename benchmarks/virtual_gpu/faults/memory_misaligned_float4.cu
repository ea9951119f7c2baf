// Doubles a row that starts one element into a buffer with 16-byte loads: the address is a multiple of 4 but
// not of 16, which the hardware refuses.
#include "verdict.cuh"

__global__ void double_row(const float* row, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
  if (i < n) out[i] = 2.0f * row[i];
#else
  if (4 * i + 3 < n) {
    const float4 four = reinterpret_cast<const float4*>(row)[i];  // expect: memory
    reinterpret_cast<float4*>(out)[i] = make_float4(2 * four.x, 2 * four.y, 2 * four.z, 2 * four.w);
  }
#endif
}

int main() {
  const int n = 1024;
  const std::vector<float> buffer = small_numbers(n + 4);
  float* device_buffer = to_device(buffer);
  float* out = device_zeros<float>(n);
  const float* row = device_buffer + 1;
  double_row<<<n / 256, 256>>>(row, out, n);
  const std::vector<float> doubled = to_host(out, n);
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && doubled[i] == 2.0f * buffer[i + 1];
  cudaFree(device_buffer);
  cudaFree(out);
  return verdict(right);
}
