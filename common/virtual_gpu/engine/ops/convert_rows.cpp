#include "ops/convert_rows.h"

#include <deque>
#include <span>
#include <string>

namespace vgpu::ops {
namespace {

// Into another integer width: a signed value keeps its sign, all else is filled with zeros or cut.
template <class From, class To>
void resize_lanes(const void* in, void* out) {
  const auto* from = static_cast<const From*>(in);
  auto* to = static_cast<To*>(out);
  VGPU_LANE_LOOP
  for (int i = 0; i < kLanes; ++i) to[i] = static_cast<To>(from[i]);
}

template <class From>
LaneConversion resize_from(int bytes) {
  switch (bytes) {
    case 1:
      return &resize_lanes<From, uint8_t>;
    case 2:
      return &resize_lanes<From, uint16_t>;
    case 4:
      return &resize_lanes<From, uint32_t>;
    default:
      return &resize_lanes<From, uint64_t>;
  }
}

// Null where the widths are the same.
LaneConversion resize(int from_bytes, bool is_signed, int to_bytes) {
  if (from_bytes == to_bytes) return nullptr;
  switch (from_bytes) {
    case 1:
      return is_signed ? resize_from<int8_t>(to_bytes) : resize_from<uint8_t>(to_bytes);
    case 2:
      return is_signed ? resize_from<int16_t>(to_bytes) : resize_from<uint16_t>(to_bytes);
    case 4:
      return is_signed ? resize_from<int32_t>(to_bytes) : resize_from<uint32_t>(to_bytes);
    default:
      return resize_from<uint64_t>(to_bytes);
  }
}

// What OpForm::imm points to.
struct Resized {
  LaneConversion source, convert, result;
};

void run_resized(Warp& w, const Op& op) {
  const Resized& steps = *reinterpret_cast<const Resized*>(static_cast<uintptr_t>(op.table.imm));
  uint64_t narrow_source[kLanes], result[kLanes];  // room for lanes of any width
  const void* in = w.regs + op.src[0];
  void* out = w.regs + op.dst;
  if (steps.source != nullptr) {
    steps.source(in, narrow_source);
    in = narrow_source;
  }
  if (steps.result == nullptr) {
    steps.convert(in, out);
  } else {
    steps.convert(in, result);
    steps.result(result, out);
  }
}

// Rows point into it. The tables are made once and by one thread.
uint64_t kept(const Resized& steps) {
  static std::deque<Resized> all;
  return reinterpret_cast<uintptr_t>(&all.emplace_back(steps));
}

// The registers that may hold a type: all at least as wide, but PTX wants exact ones where bf16 is involved,
// and .b8 registers are kept 16 bits wide.
std::span<const int> register_bytes(int type_bytes, bool exact) {
  static constexpr int kBytes[] = {2, 4, 8};
  const size_t first = type_bytes == 8 ? 2 : type_bytes == 4 ? 1 : 0;
  return std::span(kBytes).subspan(first, exact ? 1 : std::size(kBytes) - first);
}

OpFn masked_form(int bytes) {
  return bytes == 2   ? &restore_inactive<uint16_t>
         : bytes == 4 ? &restore_inactive<uint32_t>
                      : &restore_inactive<uint64_t>;
}

}  // namespace

void add_conversion_rows(FormTable& t, Modifiers modifiers, const ConvertedType& to,
                         const ConvertedType& from, OpFn exact, LaneConversion convert) {
  t.count_as(InstrClass::kConvert);
  std::string name("cvt");
  for (const char* modifier : modifiers) name.append(modifier);
  name.append(".").append(to.name).append(".").append(from.name);
  const bool as_they_are = to.is_bfloat || from.is_bfloat;
  for (const int dst_bytes : register_bytes(to.bytes, as_they_are)) {
    for (const int src_bytes : register_bytes(from.bytes, as_they_are)) {
      const std::string dst = std::to_string(8 * dst_bytes), src = std::to_string(8 * src_bytes);
      const std::string signature = dst + " " + src;
      if (dst_bytes == to.bytes && src_bytes == from.bytes) {
        t.add(name, signature, masked_form(dst_bytes), exact);
        continue;
      }
      const Resized steps{resize(src_bytes, false, from.bytes), convert,
                          resize(to.bytes, to.is_signed, dst_bytes)};
      t.add({name, "#", dst, ".", src}, signature, masked_form(dst_bytes), &run_resized, kept(steps));
    }
  }
}

}  // namespace vgpu::ops
