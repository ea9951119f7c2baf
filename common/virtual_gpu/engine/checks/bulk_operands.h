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
void misaligned_tensor(Warp& w, const Op& op, int lane, uint64_t address);
void dimension_without_size(Warp& w, const Op& op, int lane, int dimension);
void wrong_box_rank(Warp& w, const Op& op, int lane, int rank, int of_map);
// `bytes`: where in its row the first element lies.
void misaligned_box(Warp& w, const Op& op, int lane, int32_t first, int64_t bytes);
// A tiled copy with a map of the im2col kind, or the other way round.
void wrong_box_mode(Warp& w, const Op& op, int lane, bool is_im2col);
// What a kernel can make of a map with tensormap.replace, and the host cannot.
void uneven_box_row(Warp& w, const Op& op, int lane, uint32_t bytes);
void box_wider_than_swizzle(Warp& w, const Op& op, int lane, uint32_t bytes, uint32_t span);
void fills_integers_with_nan(Warp& w, const Op& op, int lane);
void odd_interleave(Warp& w, const Op& op, int lane);
void replaces_corners(Warp& w, const Op& op, int lane, bool rank, int ordinal);
// Of im2col; `spatial` is 0 for W, 1 for H, 2 for D.
void outside_bounding_box(Warp& w, const Op& op, int lane, int spatial, int32_t at, int64_t first,
                          int64_t last);
void offset_beyond_range(Warp& w, const Op& op, int lane, int spatial, uint32_t offset, uint32_t most);
void stores_outside_tensor(Warp& w, const Op& op, int lane, int spatial, int64_t first, int64_t last,
                           int64_t size);
void stores_before_tensor(Warp& w, const Op& op, int lane, int dimension, int32_t at);

}  // namespace vgpu::checks
