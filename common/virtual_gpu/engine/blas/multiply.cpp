#include "blas/multiply.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "exec/thread_pool.h"

namespace vgpu::blas {
namespace {

// A tile of the result is kept in registers while k runs: 16 x 4 floats are 16 registers of NEON, 8 of AVX2.
constexpr int64_t kTileRows = 16, kTileColumns = 4;
// Below this many products another thread costs more than it saves.
constexpr double kProductsPerThread = 1 << 20;

template <class Acc>
struct Of {
  static Acc from(Number value) { return static_cast<Acc>(value.real()); }
  static Number number(Acc value) { return static_cast<double>(value); }
  static Acc product(Acc a, Acc b) { return a * b; }
};

template <>
struct Of<int32_t> {
  static uint32_t from(Number value) { return static_cast<uint32_t>(static_cast<int32_t>(value.real())); }
  static Number number(uint32_t value) { return static_cast<double>(static_cast<int32_t>(value)); }
  static uint32_t product(uint32_t a, uint32_t b) { return a * b; }  // wraps, as the device's does
};

template <class T>
struct Of<std::complex<T>> {
  static std::complex<T> from(Number value) { return std::complex<T>(value); }
  static Number number(std::complex<T> value) { return Number(value); }
  static std::complex<T> product(std::complex<T> a, std::complex<T> b) { return times(a, b); }
};

int64_t up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit;
}

// The lines of a matrix in groups of `width`, line after line of a group for each place along k; zeros fill
// the last group.
template <class Acc, class Get>
auto packed(int64_t lines, int64_t k, int64_t width, Get get) {
  using Value = decltype(Of<Acc>::from(Number()));
  std::vector<Value> out(static_cast<size_t>(up(lines, width) * width * k));
  for (int64_t line = 0; line < lines; ++line) {
    Value* to = out.data() + line / width * width * k + line % width;
    for (int64_t p = 0; p < k; ++p) to[p * width] = Of<Acc>::from(get(line, p));
  }
  return out;
}

template <class Acc, class Value>
void add_products(const Value* a, const Value* b, int64_t k, Value (&sums)[kTileColumns][kTileRows]) {
  for (int64_t p = 0; p < k; ++p, a += kTileRows, b += kTileColumns)
    for (int64_t j = 0; j < kTileColumns; ++j)
      for (int64_t i = 0; i < kTileRows; ++i) sums[j][i] += Of<Acc>::product(a[i], b[j]);
}

constexpr double kGeluScale = 0.7978845608028654, kGeluCubic = 0.044715;  // sqrt(2 / pi)

double gelu(double x) {
  return 0.5 * x * (1.0 + std::tanh(kGeluScale * (x + kGeluCubic * x * x * x)));
}

double gelu_slope(double x) {
  const double bend = std::tanh(kGeluScale * (x + kGeluCubic * x * x * x));
  const double inner = kGeluScale * (1.0 + 3.0 * kGeluCubic * x * x);
  return 0.5 * (1.0 + bend) + 0.5 * x * (1.0 - bend * bend) * inner;
}

Number finish(const Epilogue& epilogue, int64_t i, int64_t j, Number value) {
  if (epilogue.what & wire::kAddBias) value += epilogue.bias.get(i, 0);
  if (epilogue.what & wire::kStoreAux) epilogue.aux.set(i, j, value);
  if (epilogue.what & wire::kRelu) value = value.real() > 0 || std::isnan(value.real()) ? value : Number();
  if (epilogue.what & wire::kGelu) value = gelu(value.real());
  if (epilogue.what & wire::kGeluGradient) value *= gelu_slope(epilogue.aux.get(i, j).real());
  return value;
}

void put(const View& c, int64_t i, int64_t j, Number sum, Number alpha, Number beta,
         const Epilogue& epilogue) {
  Number value = times(alpha, sum);
  if (beta != 0.0) value += times(beta, c.get(i, j));
  c.set(i, j, epilogue.what == 0 ? value : finish(epilogue, i, j, value));
}

template <class Acc>
void multiply_as(const View& a, const View& b, const View& c, Number alpha, Number beta,
                 const Epilogue& epilogue) {
  const int64_t m = a.rows(), n = b.columns(), k = alpha == 0.0 ? 0 : a.columns();
  const auto left = packed<Acc>(m, k, kTileRows, [&](int64_t i, int64_t p) { return a.get(i, p); });
  const auto right = packed<Acc>(n, k, kTileColumns, [&](int64_t j, int64_t p) { return b.get(p, j); });
  using Value = typename decltype(left)::value_type;
  const int64_t groups = up(m, kTileRows);
  const auto rows_of = [&](int64_t group) {
    for (int64_t j0 = 0; j0 < n; j0 += kTileColumns) {
      Value sums[kTileColumns][kTileRows] = {};
      add_products<Acc>(left.data() + group * kTileRows * k, right.data() + j0 * k, k, sums);
      const int64_t i0 = group * kTileRows;
      for (int64_t j = j0; j < std::min(n, j0 + kTileColumns); ++j)
        for (int64_t i = i0; i < std::min(m, i0 + kTileRows); ++i)
          if (c.is_stored(i, j)) put(c, i, j, Of<Acc>::number(sums[j - j0][i - i0]), alpha, beta, epilogue);
    }
  };
  const double products = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const int threads =
      static_cast<int>(std::clamp(products / kProductsPerThread, 1.0, double(thread_pool().size())));
  thread_pool().run(threads, [&](int thread) {
    for (int64_t group = thread; group < groups; group += threads) rows_of(group);
  });
}

}  // namespace

void multiply(uint32_t compute, const View& a, const View& b, const View& c, Number alpha, Number beta,
              const Epilogue& epilogue) {
  switch (compute) {
    case kFloat:
      return multiply_as<float>(a, b, c, alpha, beta, epilogue);
    case kDouble:
      return multiply_as<double>(a, b, c, alpha, beta, epilogue);
    case kComplexFloat:
      return multiply_as<std::complex<float>>(a, b, c, alpha, beta, epilogue);
    case kComplexDouble:
      return multiply_as<std::complex<double>>(a, b, c, alpha, beta, epilogue);
    default:
      return multiply_as<int32_t>(a, b, c, alpha, beta, epilogue);
  }
}

}  // namespace vgpu::blas
