// Lowering of tensormap.replace and tensormap.cp_fenceproxy.
#include <algorithm>
#include <string>

#include "exec/async_detail.h"
#include "exec/bulk_ops.h"
#include "exec/lowering.h"
#include "exec/mbarrier_ops.h"
#include "tensor_map.h"

namespace vgpu {

namespace {

struct FieldForm {
  std::string_view name;
  MapField field;
  int ordinals;  // how many the field has; 0: it is one value
};
constexpr FieldForm kFields[] = {
    {"global_address", MapField::kAddress, 0},
    {"rank", MapField::kRank, 0},
    {"box_dim", MapField::kBox, kMostTensorDimensions},
    {"global_dim", MapField::kSize, kMostTensorDimensions},
    {"global_stride", MapField::kStride, kMostTensorDimensions - 1},
    {"element_stride", MapField::kElementStride, kMostTensorDimensions},
    {"elemtype", MapField::kElementType, 0},
    {"interleave_layout", MapField::kInterleave, 0},
    {"swizzle_mode", MapField::kSwizzle, 0},
    {"fill_mode", MapField::kFill, 0},
};

// How many values a field has that PTX names by numbers; 0: any value.
uint64_t choices(MapField field) {
  switch (field) {
    case MapField::kElementType:
      return std::size(kTensorElementBytes);
    case MapField::kInterleave:
      return 3;
    case MapField::kSwizzle:
      return 4;
    case MapField::kFill:
      return 2;
    default:
      return 0;
  }
}

}  // namespace

// tensormap.replace.tile.FIELD{.SPACE}.b1024.TYPE [map]{, ordinal}, value
// tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.SCOPE.sync.aligned [to], [from], 128
void FunctionLowering::lower_tensor_map(const ptx::Instruction& in) {
  const std::vector<std::string_view> parts = split_opcode(in.opcode);
  BulkDetail d;
  VirtualOp v;
  OpFn fn = copy_map;
  if (parts.size() > 2 && parts[1] == "cp_fenceproxy") {
    require("sm_90");
    if (in.operands.size() != 3) throw NotImplemented{"its operands"};
    d.destination = place(in.operands[0], v, 8);
    d.source = place(in.operands[1], v, 8);
  } else if ((parts.size() == 6 || parts.size() == 7) && parts[1] == "replace" && parts[2] == "tile") {
    require("sm_90a");
    const auto form = std::ranges::find(kFields, parts[3], &FieldForm::name);
    if (form == std::end(kFields)) throw NotImplemented{"field ." + std::string(parts[3])};
    if (in.operands.size() != (form->ordinals == 0 ? 2u : 3u)) throw NotImplemented{"its operands"};
    fn = replace_map_field;
    d.field = form->field;
    d.map_place = parts[4] == "shared::cta" ? MapPlace::kShared
                  : parts[4] == "global"    ? MapPlace::kGlobal
                                            : MapPlace::kGeneric;
    if ((d.map_place == MapPlace::kGeneric) != (parts.size() == 6)) throw NotImplemented{"its state space"};
    d.destination = place(in.operands[0], v, 8);
    if (form->ordinals > 0) {
      const uint64_t ordinal = immediate(in.operands[1]);
      if (ordinal >= static_cast<uint64_t>(form->ordinals)) throw NotImplemented{"this ordinal"};
      d.ordinal = static_cast<int>(ordinal);
    }
    if (const uint64_t most = choices(d.field); most != 0 && immediate(in.operands.back()) >= most)
      throw NotImplemented{"value " + std::to_string(immediate(in.operands.back())) + " of ." +
                           std::string(parts[3])};
    d.source = place(in.operands.back(), v, parts.back() == "b64" ? 8 : 4);
  } else {
    throw NotImplemented{"this form"};
  }
  emit(fn, std::move(v)).op.bulk = keep(d);
}

// fence.proxy.tensormap::generic.release.SCOPE
// fence.proxy.tensormap::generic.acquire.SCOPE [map], 128
void FunctionLowering::lower_map_fence(const ptx::Instruction& in) {
  if (in.operands.empty()) {
    emit(map_fence, map_fence, InstrClass::kFence);
    return;
  }
  BulkDetail d;
  VirtualOp v;
  d.map = place(in.operands[0], v, 8);
  VirtualOp& made = emit(map_fence, std::move(v));
  made.op.cls = InstrClass::kFence;
  made.op.bulk = keep(d);
}

}  // namespace vgpu
