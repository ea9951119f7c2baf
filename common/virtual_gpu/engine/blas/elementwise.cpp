#include "blas/elementwise.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace vgpu::blas {
namespace {

template <class Visit>
void each(const View& view, Visit visit) {
  for (int64_t j = 0; j < view.columns(); ++j)
    for (int64_t i = 0; i < view.rows(); ++i) visit(i, j);
}

// Real numbers are rounded once, as by the device's fused operation.
Number fused(Number a, Number b, Number sum) {
  if (a.imag() == 0 && b.imag() == 0) return {std::fma(a.real(), b.real(), sum.real()), sum.imag()};
  return times(a, b) + sum;
}

double size(Number value) {
  return std::abs(value.real()) + std::abs(value.imag());
}

template <class IsBetter>
int64_t best_index(const View& a, IsBetter is_better) {
  if (a.rows() == 0) return 0;
  int64_t best = 0;
  double best_size = size(a.get(0, 0));
  for (int64_t i = 1; i < a.rows(); ++i) {
    const double here = size(a.get(i, 0));
    if (!is_better(here, best_size)) continue;
    best = i;
    best_size = here;
  }
  return best + 1;
}

}  // namespace

void combine(const View& a, const View& b, const View& c, Number alpha, Number beta) {
  each(c, [&](int64_t i, int64_t j) {
    Number value = beta == 0.0 ? Number() : times(beta, b.get(i, j));
    if (alpha != 0.0) value = fused(alpha, a.get(i, j), value);
    c.set(i, j, value);
  });
}

void multiply_elements(const View& a, const View& b, const View& c) {
  each(c, [&](int64_t i, int64_t j) { c.set(i, j, times(a.get(i, j), b.get(i, j))); });
}

void exchange(const View& a, const View& b) {
  each(a, [&](int64_t i, int64_t j) {
    const Number value = a.get(i, j);
    a.set(i, j, b.get(i, j));
    b.set(i, j, value);
  });
}

void rotate(const View& a, const View& b, Number cosine, Number sine) {
  each(a, [&](int64_t i, int64_t j) {
    const Number x = a.get(i, j), y = b.get(i, j);
    a.set(i, j, times(cosine, x) + times(sine, y));
    b.set(i, j, times(cosine, y) - times(std::conj(sine), x));
  });
}

Number dot(const View& a, const View& b) {
  Number sum;
  each(a, [&](int64_t i, int64_t j) { sum = fused(a.get(i, j), b.get(i, j), sum); });
  return sum;
}

// Squares that leave the range of a double are summed again, scaled by the largest element.
double norm(const View& a) {
  double sum = 0;
  each(a, [&](int64_t i, int64_t j) { sum += std::norm(a.get(i, j)); });
  constexpr double kSmall = 1e-280;
  if (std::isnan(sum) || (std::isfinite(sum) && sum > kSmall)) return std::sqrt(sum);
  double largest = 0, scaled = 0;
  each(a, [&](int64_t i, int64_t j) {
    const Number value = a.get(i, j);
    largest = std::max({largest, std::abs(value.real()), std::abs(value.imag())});
  });
  if (largest == 0 || !std::isfinite(largest)) return largest;
  each(a, [&](int64_t i, int64_t j) { scaled += std::norm(a.get(i, j) / largest); });
  return largest * std::sqrt(scaled);
}

double absolute_sum(const View& a) {
  double sum = 0;
  each(a, [&](int64_t i, int64_t j) { sum += size(a.get(i, j)); });
  return sum;
}

int64_t largest_index(const View& a) {
  return best_index(a, [](double here, double best) { return here > best; });
}

int64_t smallest_index(const View& a) {
  return best_index(a, [](double here, double best) { return here < best; });
}

void solve(const View& a, const View& b, Number alpha) {
  const int64_t size = b.rows();
  const bool upward = !a.is_stored(size - 1, 0) || size == 1;  // upper: from the last row to the first
  std::vector<Number> matrix(static_cast<size_t>(size * size)), x(static_cast<size_t>(size));
  const auto at = [&](int64_t i, int64_t j) -> Number& { return matrix[static_cast<size_t>(i * size + j)]; };
  for (int64_t i = 0; i < size; ++i)
    for (int64_t j = 0; j < size; ++j) at(i, j) = a.get(i, j);
  for (int64_t column = 0; column < b.columns(); ++column) {
    for (int64_t step = 0; step < size; ++step) {
      const int64_t i = upward ? size - 1 - step : step;
      Number rest = times(alpha, b.get(i, column));
      for (int64_t j = upward ? i + 1 : 0; j < (upward ? size : i); ++j)
        rest -= times(at(i, j), x[static_cast<size_t>(j)]);
      x[static_cast<size_t>(i)] = rest / at(i, i);
    }
    for (int64_t i = 0; i < size; ++i) b.set(i, column, x[static_cast<size_t>(i)]);
  }
}

}  // namespace vgpu::blas
