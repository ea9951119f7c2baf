// Warps that are not full: ragged tails, blocks that are no multiple of 32, lanes switched off in a pattern.
#include "buffers.cuh"

__global__ void guarded_tail(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2.0f * in[i];
}

__global__ void grid_stride(const float* in, float* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    out[i] = in[i] + 1.0f;
}

__global__ void every_third_lane(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x % 3 == 0) out[i] = in[i] - 1.0f;
}

__global__ void one_lane_a_warp(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x % 32 == 5) out[i] = in[i] * in[i];
}

__global__ void short_block(const float4* in, float4* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}

int main() {
  const int n = 10000;
  float* in = device_buffer<float>(4 * n);
  float* out = device_buffer<float>(4 * n);
  guarded_tail<<<(n + 255) / 256, 256>>>(in, out, n);
  guarded_tail<<<(n + 99) / 100, 100>>>(in, out, n);
  grid_stride<<<7, 96>>>(in, out, n);
  every_third_lane<<<40, 240>>>(in, out);
  one_lane_a_warp<<<40, 240>>>(in, out);
  short_block<<<(n + 47) / 48, 48>>>(reinterpret_cast<float4*>(in), reinterpret_cast<float4*>(out), n);
  return finish({in, out});
}
