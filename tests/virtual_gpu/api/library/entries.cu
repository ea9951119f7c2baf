// A library as a student would hand it in, and one that misbehaves: entry points called from Python.
#include <cuda_runtime.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>

namespace {

__global__ void scale_kernel(const float* in, float* out, int n, float factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * factor;
}

__global__ void fill_kernel(int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = i;
}

}  // namespace

extern "C" int scale(const float* in, float* out, int32_t n, float factor, cudaStream_t stream) {
  scale_kernel<<<(n + 127) / 128, 128, 0, stream>>>(in, out, n, factor);
  return cudaGetLastError();
}

extern "C" int fill(int* out, int64_t n) {
  fill_kernel<<<1, 256>>>(out, static_cast<int>(n));
  return cudaGetLastError();
}

extern "C" int add_up(int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e, uint32_t f, int64_t g,
                      uint64_t h, float i, double j) {
  return a == -1 && b == 255 && c == -2 && d == 65535 && e == -3 && f == 4294967295u &&
                 g == -(int64_t{1} << 40) && h == uint64_t{1} << 63 && i == 1.5f && j == -0.1
             ? 0
             : 1;
}

extern "C" int refuse() {
  return cudaErrorInvalidValue;
}

extern "C" int touch(const int* device) {
  return *device;
}

extern "C" int say(int32_t lines) {
  for (int i = 0; i < lines; ++i) std::printf("line %d of what a library prints\n", i);
  std::fflush(stdout);
  return 0;
}

extern "C" int crash() {
  std::raise(SIGABRT);
  return 0;
}

extern "C" int leave() {
  _exit(9);
}

extern "C" int hang() {
  for (;;) pause();
}
