// wgmma: products of a warpgroup, four warps that begin at a multiple of four. Each warp computes the 16 rows
// of the result that it holds. The product is computed when it is issued; its registers and the shared memory
// that it reads count as in use until its group is waited for.
#pragma once

#include <cstdint>
#include <string>

#include "exec/async_detail.h"
#include "exec/op.h"
#include "exec/products.h"

namespace vgpu {

struct Block;
struct Code;
struct KernelCode;

enum class WgmmaType : uint8_t { kF16, kBf16, kTf32, kE4m3, kE5m2, kS8, kU8, kB1 };
enum class WgmmaSum : uint8_t { kF32, kF16, kS32 };

// Operands in Op::list: the result's registers first, then A's (if it lies in registers), then descriptors
// and the predicate that says whether the old result is added.
struct WgmmaDetail {
  std::string shape;  // with the types of the result, of A, and of B where that differs
  int columns = 0;    // n
  WgmmaType a{}, b{};
  WgmmaSum sum{};
  bool saturates = false;
  bool a_in_registers = false;
  bool transpose_a = false, transpose_b = false;
  bool negate_a = false, negate_b = false;
  int results = 0;  // registers
  int a_registers = 0;
  int16_t a_at = -1, b_at = -1, scale_at = -1;  // in Op::list
};

void wgmma_product(Warp&, const Op&);
void wgmma_fence(Warp&, const Op&);
void wgmma_commit(Warp&, const Op&);
void wgmma_wait(Warp&, const Op&);  // Op::groups may stay in flight

// wgmma.wait_group, which ends a block of code: the warp goes on when all warps of its warpgroup have issued
// the products that it waits for. A product is one of the whole warpgroup: it cannot be over before that.
void wait_for_products(Warp& w, int split, const Op& op);
// After a warp has issued a product: others may have waited for that.
void wake_product_waits(Warp& w);
// Warps that wait so go on without the others, where those never come to the products: they may take other
// branches, which is found when the block ends. True when there were any.
bool give_up_product_waits(Block& b);

// Finds instructions that may touch registers of a product in flight, and products whose registers were
// changed since the last wgmma.fence; they are looked at when they run.
void guard_products(Code& code, KernelCode& kernel);
// At the end of a block: warps of a warpgroup that have not issued what the others have.
void check_products_end(Block& b);

}  // namespace vgpu
