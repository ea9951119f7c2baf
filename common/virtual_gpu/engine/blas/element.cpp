#include "blas/element.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "ops/half_tools.h"

namespace vgpu::blas {
namespace {

template <class T>
T read(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void write(uint8_t* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

template <class T>
Number load_float(const uint8_t* from) {
  return read<T>(from);
}

template <class T>
void store_float(uint8_t* to, Number value) {
  write<T>(to, static_cast<T>(value.real()));
}

template <class T>
Number load_complex(const uint8_t* from) {
  return {read<T>(from), read<T>(from + sizeof(T))};
}

template <class T>
void store_complex(uint8_t* to, Number value) {
  write<T>(to, static_cast<T>(value.real()));
  write<T>(to + sizeof(T), static_cast<T>(value.imag()));
}

template <class T>
Number load_integer(const uint8_t* from) {
  return static_cast<double>(read<T>(from));
}

template <class T>
void store_integer(uint8_t* to, Number value) {
  constexpr double kLow = static_cast<double>(std::numeric_limits<T>::min());
  constexpr double kHigh = static_cast<double>(std::numeric_limits<T>::max());
  const double nearest = std::nearbyint(value.real());
  if (!(nearest > kLow)) return write<T>(to, std::numeric_limits<T>::min());
  write<T>(to, nearest >= kHigh ? std::numeric_limits<T>::max() : static_cast<T>(nearest));
}

template <class Format>
Number load_half(const uint8_t* from) {
  return ops::to_float(Format{}, read<uint16_t>(from));
}

template <class Format>
void store_half(uint8_t* to, Number value) {
  write<uint16_t>(to, ops::to_nearest(Format{}, static_cast<float>(value.real())));
}

// cudaDataType's numbers.
constexpr ElementType kTypes[] = {
    {kFloat, 4, load_float<float>, store_float<float>},
    {kDouble, 8, load_float<double>, store_float<double>},
    {2, 2, load_half<ops::Half>, store_half<ops::Half>},
    {3, 1, load_integer<int8_t>, store_integer<int8_t>},
    {kComplexFloat, 8, load_complex<float>, store_complex<float>},
    {kComplexDouble, 16, load_complex<double>, store_complex<double>},
    {8, 1, load_integer<uint8_t>, store_integer<uint8_t>},
    {kInt32, 4, load_integer<int32_t>, store_integer<int32_t>},
    {14, 2, load_half<ops::Bfloat>, store_half<ops::Bfloat>},
    {24, 8, load_integer<int64_t>, store_integer<int64_t>},
};

}  // namespace

const ElementType* find_type(uint32_t number) {
  const auto* found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const ElementType& type) { return type.number == number; });
  return found == std::end(kTypes) ? nullptr : found;
}

}  // namespace vgpu::blas
