// Matrices on the host, and the same on the device, for programs that compare cuBLAS with plain loops.
#pragma once

#include <cublas_v2.h>

#include <complex>
#include <type_traits>

#include "../api/expect.cuh"

#define FINE(...) HOLDS((__VA_ARGS__) == CUBLAS_STATUS_SUCCESS)

using Wide = std::complex<double>;

inline Wide wide(float x) {
  return x;
}
inline Wide wide(double x) {
  return x;
}
inline Wide wide(__half x) {
  return __half2float(x);
}
inline Wide wide(__nv_bfloat16 x) {
  return __bfloat162float(x);
}
inline Wide wide(signed char x) {
  return x;
}
inline Wide wide(int x) {
  return x;
}
inline Wide wide(cuComplex x) {
  return {x.x, x.y};
}
inline Wide wide(cuDoubleComplex x) {
  return {x.x, x.y};
}

template <class T>
T narrow(Wide x) {
  if constexpr (std::is_same_v<T, cuComplex>) {
    return make_cuComplex(float(x.real()), float(x.imag()));
  } else if constexpr (std::is_same_v<T, cuDoubleComplex>) {
    return make_cuDoubleComplex(x.real(), x.imag());
  } else {
    return T(float(x.real()));
  }
}

// Small whole numbers, so that sums are exact in every type.
template <class T>
struct Matrix {
  int rows, columns, ld;
  std::vector<T> host;
  T* device = nullptr;
  Matrix(int rows, int columns, int seed, int padding = 2)
      : rows(rows), columns(columns), ld(rows + padding), host(size_t(ld) * columns) {
    for (size_t i = 0; i < host.size(); ++i)
      host[i] = narrow<T>({double(int(i * 7 + seed) % 5 - 2), double(int(i * 3 + seed) % 3 - 1)});
    cudaMalloc(&device, host.size() * sizeof(T));
    cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice);
  }
  Matrix(const Matrix&) = delete;
  ~Matrix() { cudaFree(device); }
  Wide at(int i, int j) const { return wide(host[size_t(i) + size_t(j) * ld]); }
  Wide at(int i, int j, cublasOperation_t op) const {
    if (op == CUBLAS_OP_N) return at(i, j);
    return op == CUBLAS_OP_T ? at(j, i) : std::conj(at(j, i));
  }
  std::vector<T> back() const {
    std::vector<T> copy(host.size());
    cudaMemcpy(copy.data(), device, copy.size() * sizeof(T), cudaMemcpyDeviceToHost);
    return copy;
  }
  // How many elements on the device are not want(i, j).
  template <class Want>
  int wrong(Want want, double tolerance = 0) const {
    const std::vector<T> now = back();
    int count = 0;
    for (int j = 0; j < columns; ++j)
      for (int i = 0; i < rows; ++i)
        count += !(std::abs(wide(now[size_t(i) + size_t(j) * ld]) - want(i, j)) <= tolerance);
    return count;
  }
};
