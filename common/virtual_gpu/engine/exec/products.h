// What warps have issued of wgmma, and what of it is still under way.
#pragma once

#include <cstdint>
#include <vector>

namespace vgpu {

struct Products {
  uint32_t issued = 0;     // ever
  uint32_t committed = 0;  // groups
  uint32_t waited = 0;     // groups that are over
  // A register of a product: in flight as long as its group is not over.
  struct Use {
    uint32_t group = ~0u;  // none
    uint32_t op = 0;
    bool is_input = false;
  };
  std::vector<Use> registers;  // by place in the register file; empty where the kernel has nothing to check
  bool in_flight(const Use& use) const { return use.group != ~0u && use.group >= waited; }
};

// A product that not all warps of a warpgroup have come to.
struct GroupProduct {
  uint32_t op = 0;
  uint32_t warps = 0;  // bits
};

constexpr uint32_t kRegisterPlace = 64;  // bytes of the smallest lane array: registers begin at multiples

}  // namespace vgpu
