// Coalesced copies of one element a thread, in every access width: 1, 2, 4, 8 and 16 bytes.
#include <cuda_fp16.h>

#include "buffers.cuh"

template <typename T>
__global__ void copy(const T* __restrict__ in, T* __restrict__ out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}

template <typename T>
void launch(const char* in, char* out, int bytes) {
  const int n = bytes / static_cast<int>(sizeof(T));
  copy<T><<<n / 256, 256>>>(reinterpret_cast<const T*>(in), reinterpret_cast<T*>(out), n);
}

int main() {
  const int bytes = 1 << 18;
  char* in = device_bytes(bytes);
  char* out = device_bytes(bytes);
  launch<unsigned char>(in, out, bytes);
  launch<unsigned short>(in, out, bytes);
  launch<__half2>(in, out, bytes);
  launch<float>(in, out, bytes);
  launch<float2>(in, out, bytes);
  launch<float4>(in, out, bytes);
  return finish({in, out});
}
