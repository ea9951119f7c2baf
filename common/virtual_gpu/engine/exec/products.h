// What warps have issued of wgmma, and what of it is still under way.
#pragma once

#include <cstdint>
#include <vector>

namespace vgpu {

struct Products {
  uint32_t issued = 0;                 // ever
  uint32_t committed = 0;              // groups
  uint32_t waited = 0;                 // groups that are over
  std::vector<uint32_t> issued_until;  // by group from `waited` on: what was issued when it was committed
  uint32_t awaited = 0;  // products that are over by its latest wait, or by the one that it stands at

  // How many products the first `groups` groups have, which are not fewer than `waited`.
  uint32_t products_of(uint32_t groups) const {
    return groups <= waited ? awaited : issued_until[groups - waited - 1];
  }
  // A register of a product: in flight as long as its group is not over.
  struct Use {
    uint32_t group = ~0u;  // none
    uint32_t op = 0;
    bool is_input = false;
  };
  std::vector<Use> registers;  // by place in the register file; empty where the kernel has nothing to check
  bool in_flight(const Use& use) const { return use.group != ~0u && use.group >= waited; }
};

// The first wait of a warpgroup for a product ends what the product reads of shared memory, for all four
// warps: it says when.
struct ProductsOver {
  uint32_t until = 0;  // products
  uint32_t tick = 0;
};

// A product that not all warps of a warpgroup have come to.
struct GroupProduct {
  uint32_t op = 0;
  uint32_t warps = 0;  // bits
};

constexpr uint32_t kWarpsOfGroup = 4;
constexpr uint32_t kRegisterPlace = 64;  // bytes of the smallest lane array: registers begin at multiples

}  // namespace vgpu
