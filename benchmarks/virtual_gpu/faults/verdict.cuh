// What every program in this folder shares: device buffers made in one call, and how a program ends.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

template <typename T>
T* to_device(const std::vector<T>& values) {
  T* device = nullptr;
  cudaMalloc(&device, values.size() * sizeof(T));
  cudaMemcpy(device, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
  return device;
}

template <typename T>
T* device_zeros(size_t count) {
  T* device = nullptr;
  cudaMalloc(&device, count * sizeof(T));
  cudaMemset(device, 0, count * sizeof(T));
  return device;
}

template <typename T>
std::vector<T> to_host(const T* device, size_t count) {
  std::vector<T> values(count);
  cudaMemcpy(values.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost);
  return values;
}

// Small whole numbers: every sum in these programs is exact, so results are compared with ==.
inline std::vector<float> small_numbers(size_t count, int modulus = 7) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(static_cast<int>(i) % modulus + 1);
  return values;
}

// The corrected twin (-DFIXED) must be right and free of errors. The faulty program only has to end:
// its finding is the point, and what it computed is printed for those whose only symptom is the result.
inline int verdict(bool right) {
  const cudaError_t error = cudaGetLastError();
  std::printf("result: %s\nerror: %s\n", right ? "right" : "wrong", cudaGetErrorName(error));
#ifdef FIXED
  return right && error == cudaSuccess ? 0 : 1;
#else
  return 0;
#endif
}
