// Operations that lowering picks by hand: memory, atomics, asynchronous copies, matrix loads, clocks.
#pragma once

#include <string_view>

#include "exec/code.h"
#include "exec/op.h"

namespace vgpu {

// A load or store as op.access says; registers in op.dst (vec 1) or op.list.
OpFn load_fn(ptx::Space space, int bytes, int vec, int reg_bytes);
OpFn store_fn(ptx::Space space, int bytes, int vec, int reg_bytes);

// "add", "cas", … on type "u32", "f16x2", …, on so many elements per lane; nullptr when there is no such
// atomic.
OpFn atomic_fn(ptx::Space space, std::string_view operation, std::string_view type, int elements);

// src: [0] shared address, [1] global address, [2] what op.copy.size says.
void async_copy(Warp&, const Op&);
// The copies that a lane issued up to a tick have arrived.
void complete_copies(Warp& w, int lane, uint32_t tick);
void async_commit(Warp&, const Op&);
void async_wait_group(Warp&, const Op&);
void async_wait_all(Warp&, const Op&);

void load_matrix(Warp&, const Op&);  // ldmatrix: list = registers
void store_matrix(Warp&, const Op&);
void wmma_load(Warp&, const Op&);  // op.src: [0] address, [1] stride; list = registers; see WmmaAccess
void wmma_store(Warp&, const Op&);
void matrix_on_partial_warp(Warp&, const Op&);  // .aligned with lanes missing: a finding, then the op

void memory_fence(Warp&, const Op&);
void nothing(Warp&, const Op&);
void not_predicate(Warp&, const Op&);
void generic_from(Warp&, const Op&);  // cvta.space
void generic_to(Warp&, const Op&);    // cvta.to.space
void is_space(Warp&, const Op&);      // isspacep
void active_mask(Warp&, const Op&);
void sleep_briefly(Warp&, const Op&);

void read_clock32(Warp&, const Op&);
void read_clock64(Warp&, const Op&);
void read_clock_high(Warp&, const Op&);
void read_timer64(Warp&, const Op&);
void read_timer32(Warp&, const Op&);
void read_timer_high(Warp&, const Op&);

// Words of a .param area, offset known: src or dst is the area's place in the register file.
void param_load(Warp&, const Op&);  // op.access: the offset is in the area
void param_store(Warp&, const Op&);

}  // namespace vgpu
