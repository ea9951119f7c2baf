// Tensor maps: which bytes of device memory a box or the pixels of a tensor are, and where they lie in shared
// memory.
#pragma once

#include <vector>

#include "exec/async_detail.h"
#include "exec/async_unit.h"
#include "tensor_map.h"

namespace vgpu {

// Where a tensor copy starts, in elements; and, of im2col, how far from a pixel the one is that is loaded for
// it.
struct TensorPlace {
  int32_t at[kMostTensorDimensions] = {};
  int32_t offset[kMostSpatialDimensions] = {};
};

// Reads the map from device memory or from the kernel's parameters; false, with a finding, where there is
// none.
bool read_tensor_map(Warp& w, const Op& op, int lane, uint64_t address, TensorMap* map);

// What the lane's operands say. The offsets are as the hardware packs them into 16 bits, with a finding where
// one has no room there.
TensorPlace tensor_place(Warp& w, const Op& op, int lane);

// Whether the copy may be made with this map from this place; false, with a finding, where it may not.
bool box_fits(Warp& w, const Op& op, int lane, const TensorMap& map, const TensorPlace& place);

// How a reduction combines the elements.
BulkType element_type(const TensorMap& map);
// The box or the pixels at this place, as pieces of at most one row; `global` is 0 outside of the tensor.
std::vector<BulkPart> box_parts(const TensorMap& map, const TensorPlace& place, uint32_t shared);
// What fills the part of a box that lies outside of the tensor.
uint32_t fill_pattern(const TensorMap& map);
// Whether a load rounds floats to TF32.
bool rounds_to_tf32(const TensorMap& map);

}  // namespace vgpu
