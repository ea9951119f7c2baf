#include "ops/compare.h"

#include <string>

namespace vgpu::ops {

Mask joined(Mask outcome, Warp& w, const Op& op) {
  switch (static_cast<Join>(op.table.imm >> 8 & 0xff)) {
    case Join::kNone:
      return outcome;
    case Join::kAnd:
      return outcome & predicate(w, op.src[2]);
    case Join::kOr:
      return outcome | predicate(w, op.src[2]);
    case Join::kXor:
      return outcome ^ predicate(w, op.src[2]);
  }
  return outcome;
}

void store_outcomes(Warp& w, const Op& op, Mask low, Mask high) {
  const uint32_t value = value_if_true(op);
  store_lanes<false, uint32_t>(w, op.dst, [&](int i) {
    return (lane_is_on<uint32_t>(low, i) ? value : 0u) | (lane_is_on<uint32_t>(high, i) ? value << 16 : 0u);
  });
}

void add_compare_rows(FormTable& t, std::span<const NamedCmp> cmps, const CompareRows& rows) {
  constexpr const char* kJoinNames[kJoins] = {"", ".and", ".or", ".xor"};
  const std::string width = std::to_string(rows.operand_width);
  t.count_as(InstrClass::kCompare);
  for (const NamedCmp& named : cmps) {
    for (int join = 0; join < kJoins; ++join) {
      const FormName name(rows.op, named.name, kJoinNames[join], rows.modifiers, rows.result_type, rows.type);
      std::string signature(rows.result);
      signature.append(" ").append(width).append(" ").append(width).append(join != 0 ? " p" : "");
      const bool everyday = join == 0 && !rows.everyday.empty();
      const OpFn fn = everyday ? rows.everyday[static_cast<size_t>(named.cmp)] : rows.function;
      const Combination combination{named.cmp, static_cast<Join>(join), rows.value};
      t.add(name, signature, fn, fn, combination.packed());
    }
  }
}

void add_set_rows(FormTable& t, std::span<const NamedCmp> cmps, std::string_view modifiers,
                  std::string_view type, int operand_width, const SetResult& result, OpFn function) {
  for (const char* result_type : result.types) {
    if (result_type == nullptr) continue;
    add_compare_rows(t, cmps,
                     {.op = "set",
                      .modifiers = modifiers,
                      .result_type = result_type,
                      .type = type,
                      .result = result.width == 16 ? "16" : "32",
                      .operand_width = operand_width,
                      .value = result.value,
                      .function = function,
                      .everyday = {}});
  }
}

}  // namespace vgpu::ops
