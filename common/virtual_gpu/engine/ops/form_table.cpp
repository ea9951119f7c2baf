#include "ops/form_table.h"

namespace vgpu {

std::string FormName::text() const {
  std::string joined;
  for (const std::string_view part : parts_) joined.append(part);
  return joined;
}

void FormTable::add(const FormName& name, std::string_view signature, OpFn masked, OpFn full, uint64_t imm) {
  rows_.push_back({keep(name.text()), keep(signature), masked, full, cls_, imm});
}

void FormTable::add_lanes(const FormName& name, std::initializer_list<size_t> bytes, OpFn masked, OpFn full) {
  std::string signature;
  for (const size_t lane_bytes : bytes) {
    if (!signature.empty()) signature += ' ';
    signature += std::to_string(8 * lane_bytes);
  }
  add(name, signature, masked, full);
}

const char* FormTable::keep(std::string_view text) {
  return texts_.emplace_back(text).c_str();
}

}  // namespace vgpu
