// Lowering of texture and surface instructions.
#include <algorithm>
#include <array>

#include "exec/lowering.h"
#include "exec/texture_access.h"

namespace vgpu {
namespace {

using TextureOperand = ptx::Operand;

struct Geometry {
  std::string_view name;
  uint8_t dimensions;
  bool layered;
};
constexpr Geometry kGeometries[] = {
    {"1d", 1, false}, {"2d", 2, false}, {"3d", 3, false}, {"a1d", 1, true}, {"a2d", 2, true},
};
constexpr std::string_view kChannels[] = {"r", "g", "b", "a"};

struct QuestionName {
  std::string_view name;
  TextureQuestion question;
};
constexpr QuestionName kQuestions[] = {
    {"width", TextureQuestion::kWidth},
    {"height", TextureQuestion::kHeight},
    {"depth", TextureQuestion::kDepth},
    {"array_size", TextureQuestion::kLayers},
    {"num_mipmap_levels", TextureQuestion::kLevels},
    {"num_samples", TextureQuestion::kSamples},
    {"normalized_coords", TextureQuestion::kNormalized},
};

struct BoundaryName {
  std::string_view name;
  Boundary boundary;
};
constexpr BoundaryName kBoundaries[] = {
    {"trap", Boundary::kTrap}, {"clamp", Boundary::kClamp}, {"zero", Boundary::kZero}};

// The modifiers of such an instruction, sorted out.
struct TextureParts {
  TextureWay way;
  int vec = 1;
  std::vector<std::string_view> types;
  bool has_geometry = false;
  int extra_operands = 0;  // a level, or two gradients: of textures with one level they change nothing
};

TextureParts sort_texture(std::string_view opcode) {
  TextureParts parts;
  const std::vector<std::string_view> words = split_opcode(opcode);
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const auto* geometry = std::find_if(std::begin(kGeometries), std::end(kGeometries),
                                        [&](const Geometry& g) { return g.name == word; });
    const auto* boundary = std::find_if(std::begin(kBoundaries), std::end(kBoundaries),
                                        [&](const BoundaryName& b) { return b.name == word; });
    const auto* channel = std::find(std::begin(kChannels), std::end(kChannels), word);
    ptx::Type type;
    if (geometry != std::end(kGeometries)) {
      parts.way.dimensions = geometry->dimensions;
      parts.way.layered = geometry->layered;
      parts.has_geometry = true;
    } else if (boundary != std::end(kBoundaries)) {
      parts.way.boundary = boundary->boundary;
    } else if (words[0] == "tld4" && channel != std::end(kChannels)) {
      parts.way.gathered = static_cast<uint8_t>(channel - std::begin(kChannels) + 1);
    } else if (word == "level" || word == "grad") {
      parts.extra_operands = word == "level" ? 1 : 2;
    } else if (word == "v2" || word == "v4") {
      parts.vec = word == "v2" ? 2 : 4;
    } else if (parse_type(word, &type)) {
      parts.types.push_back(word);
    } else if (!(word == "b" && words[0].starts_with("su")) && word != "base") {
      throw NotImplemented{"modifier ." + std::string(word)};
    }
  }
  if (!parts.has_geometry) throw NotImplemented{"this kind of texture"};
  return parts;
}

}  // namespace

void FunctionLowering::lower_texture(const ptx::Instruction& in) {
  TextureParts parts = sort_texture(in.opcode);
  const std::array<std::string_view, 3> results = {"f32", "s32", "u32"};
  if (parts.types.size() != 2 || parts.vec != 4 ||
      std::find(results.begin(), results.end(), parts.types[0]) == results.end())
    throw NotImplemented{"its types"};
  parts.way.by_integers = parts.types[1] == "s32";
  const size_t count = in.operands.size();
  if (count < 2 || count > 2u + static_cast<size_t>(parts.extra_operands))
    throw NotImplemented{"its operands"};
  const TextureOperand& to = in.operands[0];
  if (to.kind != ptx::OperandKind::kVector || to.items.size() != 4) throw NotImplemented{"its destination"};
  std::vector<uint32_t> defs, uses;
  for (const TextureOperand& item : to.items) defs.push_back(destination(item, 4));
  emit_texture(texture_fetch, in.operands[1], parts.way, {4, 4, 4}, defs, uses);
}

void FunctionLowering::lower_surface(const ptx::Instruction& in) {
  const TextureParts parts = sort_texture(in.opcode);
  const bool stores = in.opcode.starts_with("sust");
  ptx::Type type;
  if (parts.types.size() != 1 || !parse_type(parts.types[0], &type) || in.operands.size() != 2)
    throw NotImplemented{"its types"};
  const TextureOperand& values = in.operands[stores ? 1 : 0];
  const std::vector<TextureOperand> items =
      values.kind == ptx::OperandKind::kVector ? values.items : std::vector<TextureOperand>{values};
  if (static_cast<int>(items.size()) != parts.vec) throw NotImplemented{"a vector of that length"};
  const int width = std::max(2, type.bytes());
  std::vector<uint32_t> defs, uses;
  for (const TextureOperand& item : items)
    (stores ? uses : defs).push_back(stores ? source(item, width) : destination(item, width));
  emit_texture(stores ? surface_store : surface_load, in.operands[stores ? 0 : 1], parts.way,
               {type.bytes(), parts.vec, width}, defs, uses);
}

void FunctionLowering::lower_texture_query(const ptx::Instruction& in) {
  const std::vector<std::string_view> words = split_opcode(in.opcode);
  const auto* row = std::find_if(std::begin(kQuestions), std::end(kQuestions), [&](const QuestionName& q) {
    return words.size() == 3 && q.name == words[1];
  });
  if (row == std::end(kQuestions)) throw NotImplemented{"this question"};
  const TextureOperand& from = in.operands.at(1);
  if (from.kind != ptx::OperandKind::kAddress || from.reg < 0 || from.value != 0)
    throw NotImplemented{"a texture or surface that is no object"};
  const uint32_t to = destination(in.operands[0], 4);
  VirtualOp& v = emit(texture_query, texture_query, InstrClass::kOther);
  v.op.access = {static_cast<uint64_t>(row->question), 4, 1, 4};
  v.op.space = static_cast<uint8_t>(ptx::Space::kGlobal);
  v.op.src[0] = reg_slot(from.reg);
  v.list = {to};
  v.defs = {to};
  v.uses = {v.op.src[0]};
}

// `from` is [handle, {coordinates}]; `widths`: bytes of an element, elements, bytes of a register.
void FunctionLowering::emit_texture(OpFn fn, const ptx::Operand& from, const TextureWay& way,
                                    const std::array<int, 3>& widths, const std::vector<uint32_t>& defs,
                                    const std::vector<uint32_t>& values) {
  if (from.kind != ptx::OperandKind::kAddress || from.items.size() != 1)
    throw NotImplemented{"a sampler beside the texture"};
  if (from.reg < 0 || from.value != 0) throw NotImplemented{"a texture or surface that is no object"};
  const TextureOperand& at = from.items[0];
  const std::vector<TextureOperand> coordinates =
      at.kind == ptx::OperandKind::kVector ? at.items : std::vector<TextureOperand>{at};
  const size_t wanted = static_cast<size_t>(way.dimensions) + (way.layered ? 1 : 0);
  if (coordinates.size() < wanted) throw NotImplemented{"its coordinates"};
  std::vector<uint32_t> list = defs;
  list.insert(list.end(), values.begin(), values.end());
  std::vector<uint32_t> uses = values;
  for (size_t i = 0; i < wanted; ++i) {
    uses.push_back(source(coordinates[i], 4));
    list.push_back(uses.back());
  }
  const bool stores = fn == surface_store;
  VirtualOp& v = emit(fn, fn, stores ? InstrClass::kStoreGlobal : InstrClass::kLoadGlobal);
  v.op.access = {way.packed(), static_cast<uint8_t>(widths[0]), static_cast<uint8_t>(widths[1]),
                 static_cast<uint8_t>(widths[2])};
  v.op.space = static_cast<uint8_t>(ptx::Space::kGlobal);
  v.op.src[0] = reg_slot(from.reg);
  v.list = list;
  v.defs = defs;
  v.uses = uses;
  v.uses.push_back(v.op.src[0]);
}

}  // namespace vgpu
