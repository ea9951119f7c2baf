#include "exec/bulk_reduce.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "ops/matrix_convert.h"

namespace vgpu {

namespace {

template <class T>
T combined(BulkReduction r, T a, T b) {
  switch (r) {
    case BulkReduction::kAdd:
      return static_cast<T>(a + b);
    case BulkReduction::kMin:
      return std::min(a, b);
    case BulkReduction::kMax:
      return std::max(a, b);
    case BulkReduction::kInc:
      return a >= b ? T{0} : static_cast<T>(a + 1);
    case BulkReduction::kDec:
      return a == T{0} || a > b ? b : static_cast<T>(a - 1);
    default:
      return b;
  }
}

template <class T>
T combined_bits(BulkReduction r, T a, T b) {
  switch (r) {
    case BulkReduction::kAnd:
      return a & b;
    case BulkReduction::kOr:
      return a | b;
    case BulkReduction::kXor:
      return a ^ b;
    default:
      return combined(r, a, b);
  }
}

// Signed sums wrap.
template <class S, class U>
S combined_signed(BulkReduction r, S a, S b) {
  if (r == BulkReduction::kAdd) return static_cast<S>(static_cast<U>(a) + static_cast<U>(b));
  return combined(r, a, b);
}

template <class T, class F>
void each(uint8_t* to, const uint8_t* from, uint32_t bytes, F f) {
  for (uint32_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) {
    T a, b;
    std::memcpy(&a, to + at, sizeof a);
    std::memcpy(&b, from + at, sizeof b);
    const T r = f(a, b);
    std::memcpy(to + at, &r, sizeof r);
  }
}

float from_bf16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}
uint16_t to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return 0x7fff;
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace

void reduce_bytes(BulkReduction r, BulkType type, uint8_t* to, const uint8_t* from, uint32_t bytes) {
  switch (type) {
    case BulkType::kU32:
    case BulkType::kBits:
      return each<uint32_t>(to, from, bytes, [&](uint32_t a, uint32_t b) { return combined_bits(r, a, b); });
    case BulkType::kS32:
      return each<int32_t>(to, from, bytes,
                           [&](int32_t a, int32_t b) { return combined_signed<int32_t, uint32_t>(r, a, b); });
    case BulkType::kU64:
      return each<uint64_t>(to, from, bytes, [&](uint64_t a, uint64_t b) { return combined_bits(r, a, b); });
    case BulkType::kS64:
      return each<int64_t>(to, from, bytes,
                           [&](int64_t a, int64_t b) { return combined_signed<int64_t, uint64_t>(r, a, b); });
    case BulkType::kF32:
      return each<float>(to, from, bytes, [&](float a, float b) { return combined(r, a, b); });
    case BulkType::kF64:
      return each<double>(to, from, bytes, [&](double a, double b) { return combined(r, a, b); });
    case BulkType::kF16:
      return each<uint16_t>(to, from, bytes, [&](uint16_t a, uint16_t b) {
        return matrix::float_to_half(combined(r, matrix::half_to_float(a), matrix::half_to_float(b)));
      });
    case BulkType::kBf16:
      return each<uint16_t>(to, from, bytes, [&](uint16_t a, uint16_t b) {
        return to_bf16(combined(r, from_bf16(a), from_bf16(b)));
      });
  }
}

}  // namespace vgpu
