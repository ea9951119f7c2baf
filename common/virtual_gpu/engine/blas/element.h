// Elements of matrices: any type that cuBLAS takes, read and written as a complex number of doubles, which
// holds every one of them exactly.
#pragma once

#include <complex>
#include <cstdint>

namespace vgpu::blas {

using Number = std::complex<double>;

// Without the special cases of infinities that std::complex looks for.
template <class T>
std::complex<T> times(std::complex<T> a, std::complex<T> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

struct ElementType {
  uint32_t number;  // cudaDataType
  uint32_t bytes;
  Number (*load)(const uint8_t* from);
  void (*store)(uint8_t* to, Number value);
};

// nullptr for a type that there is none of.
const ElementType* find_type(uint32_t number);

constexpr uint32_t kFloat = 0, kDouble = 1, kComplexFloat = 4, kComplexDouble = 5, kInt32 = 10;

}  // namespace vgpu::blas
