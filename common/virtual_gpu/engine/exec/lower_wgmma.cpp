// Lowering of wgmma.* and of setmaxnreg.
#include <algorithm>
#include <charconv>

#include "exec/lowering.h"
#include "exec/memory_ops.h"
#include "exec/wgmma.h"

namespace vgpu {

using ptx::Operand;
using ptx::OperandKind;

namespace {

struct NamedType {
  std::string_view name;
  WgmmaType type;
  int k;
};
constexpr NamedType kWgmmaTypes[] = {
    {"f16", WgmmaType::kF16, 16},   {"bf16", WgmmaType::kBf16, 16}, {"tf32", WgmmaType::kTf32, 8},
    {"e4m3", WgmmaType::kE4m3, 32}, {"e5m2", WgmmaType::kE5m2, 32}, {"s8", WgmmaType::kS8, 32},
    {"u8", WgmmaType::kU8, 32},     {"b1", WgmmaType::kB1, 256},
};

const NamedType& wgmma_type(std::string_view name) {
  const auto found = std::ranges::find(kWgmmaTypes, name, &NamedType::name);
  if (found == std::end(kWgmmaTypes)) throw NotImplemented{"elements of type ." + std::string(name)};
  return *found;
}

// "m64n128k16": n and k.
std::pair<int, int> wgmma_shape(std::string_view shape) {
  int n = 0, k = 0;
  const size_t at_k = shape.find('k');
  if (!shape.starts_with("m64n") || at_k == std::string_view::npos) throw NotImplemented{"this shape"};
  std::from_chars(shape.data() + 4, shape.data() + at_k, n);
  std::from_chars(shape.data() + at_k + 1, shape.data() + shape.size(), k);
  if (n < 8 || n > 256 || n % 8 != 0) throw NotImplemented{"this shape"};
  return {n, k};
}

}  // namespace

void FunctionLowering::lower_wgmma(const ptx::Instruction& in) {
  require("sm_90a");
  const std::vector<std::string_view> parts = split_opcode(in.opcode);
  const std::string_view what = parts.at(1);
  if (what == "fence" || what == "commit_group" || what == "wait_group") {
    OpFn fn = what == "fence" ? wgmma_fence : what == "commit_group" ? wgmma_commit : wgmma_wait;
    const uint64_t groups = what == "wait_group" ? immediate(in.operands.at(0)) : 0;
    const bool waits = fn == wgmma_wait;
    if (waits) jump_over_when_guarded();
    VirtualOp& v = emit(fn, fn, InstrClass::kFence);
    v.op.groups = groups;
    if (waits) v.op.control = static_cast<uint8_t>(Control::kProductWait);
    return;
  }
  // wgmma.mma_async.sync.aligned.SHAPE{.satfinite}.D.A.B, of bits with .and.popc behind it
  if (parts.size() > 2 && parts[2] == "sp") throw NotImplemented{"a sparse A"};
  if (what != "mma_async" || parts.size() < 8 || parts[2] != "sync" || parts[3] != "aligned")
    throw NotImplemented{"this form"};
  WgmmaDetail d;
  const auto [n, k] = wgmma_shape(parts[4]);
  size_t at_type = 5;
  if (parts[at_type] == "satfinite") d.saturates = true, ++at_type;
  const bool ends_in_popc =
      parts.size() == at_type + 5 && parts[at_type + 3] == "and" && parts.back() == "popc";
  if (parts.size() != at_type + 3 && !ends_in_popc) throw NotImplemented{"this form"};
  const NamedType &a = wgmma_type(parts[at_type + 1]), &b = wgmma_type(parts[at_type + 2]);
  const std::string_view sum = parts[at_type];
  if (a.k != k || b.k != k) throw NotImplemented{"this shape for these types"};
  const bool bits = a.type == WgmmaType::kB1;
  if (bits != ends_in_popc || (bits && d.saturates)) throw NotImplemented{"this form"};
  const bool integers = bits || a.type == WgmmaType::kS8 || a.type == WgmmaType::kU8;
  if (integers && n > 24 && n % 16 != 0) throw NotImplemented{"this shape for these types"};
  if (sum != "f32" && sum != "f16" && sum != "s32")
    throw NotImplemented{"a result of type ." + std::string(sum)};
  if ((sum == "s32") != integers) throw NotImplemented{"this result for these types"};
  d.sum = sum == "f32" ? WgmmaSum::kF32 : sum == "f16" ? WgmmaSum::kF16 : WgmmaSum::kS32;
  d.shape = std::string(parts[4]) + '.' + std::string(sum) + '.' + std::string(a.name);
  if (b.type != a.type) d.shape += '.' + std::string(b.name);
  d.columns = n;
  d.a = a.type;
  d.b = b.type;
  d.results = d.sum == WgmmaSum::kF16 ? n / 4 : n / 2;
  const std::vector<Operand>& o = in.operands;
  if (o.size() < 4 || o[0].kind != OperandKind::kVector || static_cast<int>(o[0].items.size()) != d.results)
    throw NotImplemented{"its operands"};
  std::vector<uint32_t> list, defs, uses;
  for (const Operand& item : o[0].items) {
    list.push_back(destination(item, 4));
    if (list.back() == 0) throw NotImplemented{"a result that is dropped"};
  }
  defs = list;
  d.a_in_registers = o[1].kind == OperandKind::kVector;
  const size_t a_place = list.size();
  if (d.a_in_registers) {
    d.a_registers = 4;
    if (o[1].items.size() != 4) throw NotImplemented{"its operands"};
    for (const Operand& item : o[1].items) {
      if (item.kind != OperandKind::kReg) throw NotImplemented{"an A that is not in registers"};
      list.push_back(source(item, 4));
      uses.push_back(list.back());
    }
  } else {
    list.push_back(source(o[1], 8));
    uses.push_back(list.back());
  }
  uses.insert(uses.end(), defs.begin(), defs.end());
  d.a_at = static_cast<int16_t>(a_place);
  d.b_at = static_cast<int16_t>(list.size());
  list.push_back(source(o[2], 8));
  uses.push_back(list.back());
  d.scale_at = static_cast<int16_t>(list.size());
  list.push_back(predicate_source(o[3]));
  uses.push_back(list.back());
  // Scales of -1 or 1, then transposes of what lies in shared memory.
  size_t at = 4;
  if (!integers) {
    auto scale = [&] {
      const int64_t value = static_cast<int64_t>(immediate(o.at(at++)));
      if (static_cast<int32_t>(value) != 1 && static_cast<int32_t>(value) != -1)
        throw NotImplemented{"a scale other than 1 and -1"};
      return static_cast<int32_t>(value) == -1;
    };
    d.negate_a = scale();
    d.negate_b = scale();
    if (k == 16) {
      if (!d.a_in_registers) d.transpose_a = immediate(o.at(at++)) != 0;
      d.transpose_b = immediate(o.at(at++)) != 0;
    }
  }
  if (at != o.size()) throw NotImplemented{"its operands"};
  const WgmmaDetail* kept = keep(d);
  VirtualOp& v = emit(matrix_on_partial_warp, wgmma_product, InstrClass::kMatrix);
  v.op.wgmma = kept;
  v.list = std::move(list);
  v.defs = std::move(defs);
  v.uses = std::move(uses);
}

// Registers are not limited here; a number that the hardware refuses is refused.
void FunctionLowering::lower_setmaxnreg(const ptx::Instruction& in) {
  require("sm_90a");
  const uint64_t count = immediate(in.operands.at(0));
  if (count < 24 || count > 256 || count % 8 != 0)
    throw NotImplemented{std::to_string(count) + " registers: a multiple of 8 from 24 to 256 is expected"};
  emit(matrix_on_partial_warp, nothing, InstrClass::kOther);
}

}  // namespace vgpu
