#include "ops/compare.h"

namespace vgpu::ops {

void add_compare_rows(FormTable& t, std::string_view op, std::span<const NamedCmp> cmps,
                      std::string_view ending, std::string_view result, int operand_width,
                      std::span<const OpFn> functions) {
  constexpr const char* kJoinNames[kJoins] = {"", ".and", ".or", ".xor"};
  const std::string width = std::to_string(operand_width);
  t.count_as(InstrClass::kCompare);
  for (const NamedCmp& named : cmps) {
    for (int join = 0; join < kJoins; ++join) {
      std::string name(op);
      name.append(named.name).append(kJoinNames[join]).append(ending);
      std::string signature(result);
      signature.append(" ").append(width).append(" ").append(width).append(join != 0 ? " p" : "");
      const OpFn fn = functions[static_cast<int>(named.cmp) * kJoins + join];
      t.add(name, signature, fn, fn);
    }
  }
}

}  // namespace vgpu::ops
