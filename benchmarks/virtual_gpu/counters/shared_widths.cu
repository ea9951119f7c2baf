// Shared accesses of 1, 2, 8 and 16 bytes per lane: contiguous, padded and conflicting.
#include "buffers.cuh"

constexpr int kThreads = 128;
constexpr int kBlocks = 16;
constexpr int kBytes = 32768;

// Element `stride * thread` of a tile seen as T. Loads and stores go through the same pattern.
template <typename T, int kStride>
__global__ void shared_wide_load(const float4* in, T* out) {
  __shared__ float4 tile[kBytes / 16];
  for (int i = threadIdx.x; i < kBytes / 16; i += kThreads) tile[i] = in[i];
  __syncthreads();
  constexpr int kElements = kBytes / sizeof(T);
  out[blockIdx.x * kThreads + threadIdx.x] = reinterpret_cast<T*>(tile)[threadIdx.x * kStride % kElements];
}

template <typename T, int kStride>
__global__ void shared_wide_store(const T* in, float4* out) {
  __shared__ float4 tile[kBytes / 16];
  for (int i = threadIdx.x; i < kBytes / 16; i += kThreads) tile[i] = make_float4(0, 0, 0, 0);
  __syncthreads();
  constexpr int kElements = kBytes / sizeof(T);
  const int i = blockIdx.x * kThreads + threadIdx.x;
  reinterpret_cast<T*>(tile)[threadIdx.x * kStride % kElements] = in[i];
  __syncthreads();
  out[i] = tile[threadIdx.x];
}

template <typename T, int kStride>
void launch_load(char* in, char* out) {
  shared_wide_load<T, kStride>
      <<<kBlocks, kThreads>>>(reinterpret_cast<float4*>(in), reinterpret_cast<T*>(out));
}

template <typename T, int kStride>
void launch_store(char* in, char* out) {
  shared_wide_store<T, kStride>
      <<<kBlocks, kThreads>>>(reinterpret_cast<T*>(in), reinterpret_cast<float4*>(out));
}

int main() {
  const int bytes = kThreads * kBlocks * 16;
  char* in = device_bytes(bytes);
  char* out = device_bytes(bytes);
  launch_load<unsigned char, 1>(in, out);
  launch_load<unsigned char, 128>(in, out);
  launch_load<unsigned short, 1>(in, out);
  launch_load<unsigned short, 2>(in, out);
  launch_load<float2, 1>(in, out);
  launch_load<float2, 2>(in, out);
  launch_load<float2, 3>(in, out);
  launch_load<float2, 16>(in, out);
  launch_load<float4, 1>(in, out);
  launch_load<float4, 2>(in, out);
  launch_load<float4, 3>(in, out);
  launch_load<float4, 8>(in, out);
  launch_load<float4, 0>(in, out);
  launch_store<unsigned char, 1>(in, out);
  launch_store<float2, 1>(in, out);
  launch_store<float2, 2>(in, out);
  launch_store<float4, 1>(in, out);
  launch_store<float4, 2>(in, out);
  launch_store<float4, 8>(in, out);
  return finish({in, out});
}
