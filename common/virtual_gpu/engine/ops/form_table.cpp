#include "ops/form_table.h"

namespace vgpu {

void FormTable::add(std::string_view name, std::string_view signature, OpFn masked, OpFn full, uint64_t imm) {
  rows_.push_back({keep(name), keep(signature), masked, full, cls_, imm});
}

void FormTable::add_lanes(std::string_view name, std::initializer_list<size_t> bytes, OpFn masked,
                          OpFn full) {
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
