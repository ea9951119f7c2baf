// Findings about operands of bulk and tensor copies that the hardware does not take. The callers pass facts;
// the sentences are here.
#pragma once

#include "exec/block.h"

namespace vgpu::checks {

enum class BulkOperand { kSize, kSource, kDestination, kShared };

void misaligned_bulk(Warp& w, const Op& op, int lane, BulkOperand operand, uint64_t value, uint32_t unit);
void empty_bulk(Warp& w, const Op& op, int lane);

void no_tensor_map(Warp& w, const Op& op, int lane, uint64_t address);
// The same, where an instruction changes a map that should have been copied there first.
void no_tensor_map_copied(Warp& w, const Op& op, int lane, uint64_t address);
void wrong_box_rank(Warp& w, const Op& op, int lane, int rank, int of_map);
// `bytes`: where in its row the first element lies.
void misaligned_box(Warp& w, const Op& op, int lane, int32_t first, int64_t bytes);
void stores_before_tensor(Warp& w, const Op& op, int lane, int dimension, int32_t at);

}  // namespace vgpu::checks
