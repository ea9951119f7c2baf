// Quotients and remainders in 8 to 64 bits, signed and unsigned, by variables and by constants.
// Division by zero and MIN / -1 have no defined answer and are left out.
#include "edges.cuh"

template <typename T>
__host__ __device__ bool defined(T x, T y) {
  const T minimum = static_cast<T>(T(1) << (sizeof(T) * 8 - 1));
  return y != 0 && !(std::is_signed<T>::value && x == minimum && y == T(-1));
}

template <typename T>
__global__ void divide(const uint64_t* values, int n, uint64_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * n) return;
  const T x = static_cast<T>(values[i / n]);
  T y = static_cast<T>(values[i % n]);
  if (!defined(x, y)) y = 1;
  Column<uint64_t> to{out, n * n, i};
  to.put(static_cast<uint64_t>(static_cast<T>(x / y)));
  to.put(static_cast<uint64_t>(static_cast<T>(x % y)));
  to.put(static_cast<uint64_t>(static_cast<T>(x / T(7))));
  to.put(static_cast<uint64_t>(static_cast<T>(x % T(10))));
  to.put(static_cast<uint64_t>(static_cast<T>(x / T(-3))));
  to.put(static_cast<uint64_t>(static_cast<T>(x / T(16))));
}

// Schoolbook long division of magnitudes, one bit at a time, so that no host divide is trusted.
void long_divide(uint64_t x, uint64_t y, uint64_t* quotient, uint64_t* remainder) {
  unsigned __int128 rest = 0;
  uint64_t q = 0;
  for (int bit = 63; bit >= 0; --bit) {
    rest = rest << 1 | (x >> bit & 1);
    q <<= 1;
    if (rest >= y) {
      rest -= y;
      q |= 1;
    }
  }
  *quotient = q;
  *remainder = static_cast<uint64_t>(rest);
}

template <typename T>
bool is_negative(T x) {
  if constexpr (std::is_signed<T>::value) return x < 0;
  return false;
}

template <typename T>
void reference_one(T x, T y, T* quotient, T* remainder) {
  const bool x_negative = is_negative(x), y_negative = is_negative(y);
  uint64_t x_magnitude = static_cast<uint64_t>(x), y_magnitude = static_cast<uint64_t>(y), q, r;
  if (x_negative) x_magnitude = 0 - x_magnitude;
  if (y_negative) y_magnitude = 0 - y_magnitude;
  long_divide(x_magnitude, y_magnitude, &q, &r);
  *quotient = static_cast<T>(x_negative != y_negative ? 0 - q : q);
  *remainder = static_cast<T>(x_negative ? 0 - r : r);
}

template <typename T>
void run(Report& report, const char* what, const std::vector<uint64_t>& values) {
  const int n = static_cast<int>(values.size());
  DeviceBuffer<uint64_t> input(values), output(6 * n * n);
  divide<T><<<blocks_for(n * n, 128), 128>>>(input.get(), n, output.get());
  LAUNCHED_OK();
  std::vector<uint64_t> want(output.count());
  for (int i = 0; i < n * n; ++i) {
    const T x = static_cast<T>(values[i / n]);
    T y = static_cast<T>(values[i % n]);
    if (!defined(x, y)) y = 1;
    Column<uint64_t> to{want.data(), n * n, i};
    T quotient, remainder;
    reference_one<T>(x, y, &quotient, &remainder);
    to.put(static_cast<uint64_t>(quotient));
    to.put(static_cast<uint64_t>(remainder));
    reference_one<T>(x, T(7), &quotient, &remainder);
    to.put(static_cast<uint64_t>(quotient));
    reference_one<T>(x, T(10), &quotient, &remainder);
    to.put(static_cast<uint64_t>(remainder));
    reference_one<T>(x, T(-3), &quotient, &remainder);
    to.put(static_cast<uint64_t>(quotient));
    reference_one<T>(x, T(16), &quotient, &remainder);
    to.put(static_cast<uint64_t>(quotient));
  }
  report.equal(what, output.download(), want);
}

int main() {
  Report report("int_divide");
  std::vector<uint64_t> narrow;
  for (uint32_t value : edge_values_u32(4)) narrow.push_back(value);
  const std::vector<uint64_t> wide = edge_values_u64(6);
  run<int8_t>(report, "s8", narrow);
  run<uint8_t>(report, "u8", narrow);
  run<int16_t>(report, "s16", narrow);
  run<uint16_t>(report, "u16", narrow);
  run<int32_t>(report, "s32", narrow);
  run<uint32_t>(report, "u32", narrow);
  run<int64_t>(report, "s64", wide);
  run<uint64_t>(report, "u64", wide);
  return report.finish();
}
