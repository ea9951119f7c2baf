// Loads and stores whose lanes lie apart: a fixed stride, a start that is not on a sector, a broadcast.
#include "buffers.cuh"

constexpr int kThreads = 256;
constexpr int kBlocks = 64;
constexpr int kCount = kThreads * kBlocks;

template <int kStride>
__global__ void strided_load(const float* in, float* out) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  out[i] = in[i * kStride];
}

template <int kStride>
__global__ void strided_store(const float* in, float* out) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  out[i * kStride] = in[i];
}

template <typename T>
__global__ void shifted_load(const T* in, T* out, int shift) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  out[i] = in[i + shift];
}

template <typename T>
__global__ void shifted_store(const T* in, T* out, int shift) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  out[i + shift] = in[i];
}

__global__ void reversed_load(const float* in, float* out) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  out[i] = in[kCount - 1 - i];
}

__global__ void broadcast_load(const float* in, float* out) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  out[i] = in[blockIdx.x];
}

__global__ void row_broadcast_load(const float* in, float* out) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  out[i] = in[i / 8];
}

// 16-byte loads of rows 48 bytes apart: a request is split into quarter-warps.
__global__ void strided_float4_load(const float4* in, float4* out) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  out[i] = in[i * 3];
}

int main() {
  float* in = device_buffer<float>(kCount * 32);
  float* out = device_buffer<float>(kCount * 32);
  strided_load<2><<<kBlocks, kThreads>>>(in, out);
  strided_load<3><<<kBlocks, kThreads>>>(in, out);
  strided_load<8><<<kBlocks, kThreads>>>(in, out);
  strided_load<32><<<kBlocks, kThreads>>>(in, out);
  strided_store<2><<<kBlocks, kThreads>>>(in, out);
  strided_store<8><<<kBlocks, kThreads>>>(in, out);
  strided_store<32><<<kBlocks, kThreads>>>(in, out);
  shifted_load<float><<<kBlocks, kThreads>>>(in, out, 1);
  shifted_store<float><<<kBlocks, kThreads>>>(in, out, 1);
  shifted_load<float4>
      <<<kBlocks, kThreads>>>(reinterpret_cast<float4*>(in), reinterpret_cast<float4*>(out), 1);
  reversed_load<<<kBlocks, kThreads>>>(in, out);
  broadcast_load<<<kBlocks, kThreads>>>(in, out);
  row_broadcast_load<<<kBlocks, kThreads>>>(in, out);
  strided_float4_load<<<kBlocks, kThreads>>>(reinterpret_cast<float4*>(in), reinterpret_cast<float4*>(out));
  return finish({in, out});
}
