// Comparisons with NaN, infinity and signed zero; minimum and maximum with their two NaN rules; sign
// handling.
#include "edges.cuh"

template <typename T>
__global__ void compare(const T* values, int n, uint32_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * n) return;
  const T a = values[i / n], b = values[i % n];
  uint32_t facts = 0;
  facts |= (a < b) << 0 | (a <= b) << 1 | (a == b) << 2 | (a != b) << 3 | (a > b) << 4 | (a >= b) << 5;
  facts |= !(a < b) << 6 | !(a <= b) << 7 | !(a > b) << 8 | !(a >= b) << 9;
  facts |= (isnan(a) ? 1 : 0) << 10 | (isinf(a) ? 1 : 0) << 11 | (signbit(a) ? 1 : 0) << 12;
  facts |= (isfinite(a) ? 1 : 0) << 13 | (isnan(a) || isnan(b) ? 1 : 0) << 14;
  out[i] = facts;
}

// From the bit pattern alone: sign and magnitude as one integer, so that no host comparison is trusted.
template <typename T>
struct Decoded {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  bool nan, infinite, negative;
  int64_t order;  // both zeros are 0
  explicit Decoded(T value) {
    const Bits bits = bit_cast<Bits>(value), top = Bits(1) << (sizeof(T) * 8 - 1),
               magnitude = bits & (top - 1);
    const Bits infinity = bit_cast<Bits>(static_cast<T>(INFINITY));
    nan = magnitude > infinity;
    infinite = magnitude == infinity;
    negative = (bits & top) != 0;
    order = negative ? -static_cast<int64_t>(magnitude) : static_cast<int64_t>(magnitude);
  }
};

template <typename T>
uint32_t facts_about(T a, T b) {
  const Decoded<T> x(a), y(b);
  const bool unordered = x.nan || y.nan;
  const bool less = !unordered && x.order < y.order, equal = !unordered && x.order == y.order;
  const bool greater = !unordered && x.order > y.order;
  const bool facts[15] = {less,       less || equal,         equal,    !equal,
                          greater,    greater || equal,      !less,    !(less || equal),
                          !greater,   !(greater || equal),   x.nan,    x.infinite,
                          x.negative, !x.nan && !x.infinite, unordered};
  uint32_t bits = 0;
  for (int k = 0; k < 15; ++k) bits |= static_cast<uint32_t>(facts[k]) << k;
  return bits;
}

template <typename T>
T smaller(T a, T b, bool nan_wins) {
  const Decoded<T> x(a), y(b);
  if (x.nan || y.nan) return nan_wins || (x.nan && y.nan) ? static_cast<T>(NAN) : x.nan ? b : a;
  if (x.order == y.order) return x.negative ? a : b;  // -0 is below +0
  return x.order < y.order ? a : b;
}
template <typename T>
T larger(T a, T b, bool nan_wins) {
  return -smaller<T>(-a, -b, nan_wins);
}

__global__ void choose_float(const float* values, int n, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * n) return;
  const float a = values[i / n], b = values[i % n];
  float low, high;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(low) : "f"(a), "f"(b));
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(high) : "f"(a), "f"(b));
  Column<float> to{out, n * n, i};
  to.put(fminf(a, b));
  to.put(fmaxf(a, b));
  to.put(low);
  to.put(high);
  to.put(copysignf(a, b));
  to.put(fabsf(a));
  to.put(-a);
  to.put(a < b ? a : b);
}

__global__ void choose_double(const double* values, int n, double* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * n) return;
  const double a = values[i / n], b = values[i % n];
  Column<double> to{out, n * n, i};
  to.put(fmin(a, b));
  to.put(fmax(a, b));
  to.put(copysign(a, b));
  to.put(fabs(a));
  to.put(-a);
  to.put(a < b ? a : b);
}

template <typename T>
T with_sign_of(T a, T b) {
  const T magnitude = Decoded<T>(a).negative ? -a : a;
  return Decoded<T>(b).negative ? -magnitude : magnitude;
}

int main() {
  Report report("float_compare");
  {
    const std::vector<float> values = edge_values_f32(15);
    const int n = static_cast<int>(values.size()), pairs = n * n;
    DeviceBuffer<float> input(values), chosen(8 * pairs);
    DeviceBuffer<uint32_t> facts(pairs);
    compare<float><<<blocks_for(pairs, 128), 128>>>(input.get(), n, facts.get());
    LAUNCHED_OK();
    choose_float<<<blocks_for(pairs, 128), 128>>>(input.get(), n, chosen.get());
    LAUNCHED_OK();
    std::vector<uint32_t> want_facts(pairs);
    std::vector<float> want(8 * pairs);
    for (int i = 0; i < pairs; ++i) {
      const float a = values[i / n], b = values[i % n];
      want_facts[i] = facts_about(a, b);
      Column<float> to{want.data(), pairs, i};
      to.put(smaller(a, b, false));
      to.put(larger(a, b, false));
      to.put(smaller(a, b, true));
      to.put(larger(a, b, true));
      to.put(with_sign_of(a, b));
      to.put(with_sign_of(a, 1.0f));
      to.put(-a);
      to.put(facts_about(a, b) & 1 ? a : b);
    }
    report.equal("float_facts", facts.download(), want_facts);
    report.equal("float_choices", chosen.download(), want);
  }
  {
    const std::vector<double> values = edge_values_f64(15);
    const int n = static_cast<int>(values.size()), pairs = n * n;
    DeviceBuffer<double> input(values), chosen(6 * pairs);
    DeviceBuffer<uint32_t> facts(pairs);
    compare<double><<<blocks_for(pairs, 128), 128>>>(input.get(), n, facts.get());
    LAUNCHED_OK();
    choose_double<<<blocks_for(pairs, 128), 128>>>(input.get(), n, chosen.get());
    LAUNCHED_OK();
    std::vector<uint32_t> want_facts(pairs);
    std::vector<double> want(6 * pairs);
    for (int i = 0; i < pairs; ++i) {
      const double a = values[i / n], b = values[i % n];
      want_facts[i] = facts_about(a, b);
      Column<double> to{want.data(), pairs, i};
      to.put(smaller(a, b, false));
      to.put(larger(a, b, false));
      to.put(with_sign_of(a, b));
      to.put(with_sign_of(a, 1.0));
      to.put(-a);
      to.put(facts_about(a, b) & 1 ? a : b);
    }
    report.equal("double_facts", facts.download(), want_facts);
    report.equal("double_choices", chosen.download(), want);
  }
  return report.finish();
}
