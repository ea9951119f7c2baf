// What the programs in this folder share: deterministic device buffers, and how a program ends.
// Each program launches its kernels once each, in a fixed order; counters are compared launch by launch.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <vector>

// The same numbers on every machine: a 32-bit linear congruential generator, upper bits only.
inline std::vector<uint32_t> scrambled(size_t count, uint32_t below, uint32_t seed = 1) {
  std::vector<uint32_t> values(count);
  for (uint32_t& value : values) {
    seed = 1664525u * seed + 1013904223u;
    value = (seed >> 8) % below;
  }
  return values;
}

template <typename T>
T* to_device(const std::vector<T>& values) {
  T* device = nullptr;
  cudaMalloc(&device, values.size() * sizeof(T));
  cudaMemcpy(device, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
  return device;
}

// Bytes that are never all zero; every kernel here moves data and does not care what it is.
inline char* device_bytes(size_t count) {
  std::vector<char> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<char>(i * 7 % 113 + 1);
  return to_device(values);
}

template <typename T>
T* device_buffer(size_t count) {
  return reinterpret_cast<T*>(device_bytes(count * sizeof(T)));
}

inline int finish(std::initializer_list<void*> buffers) {
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) std::fprintf(stderr, "the kernels failed: %s\n", cudaGetErrorString(error));
  for (void* buffer : buffers) cudaFree(buffer);
  return error == cudaSuccess ? 0 : 1;
}
