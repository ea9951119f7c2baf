// Tensor maps: which bytes of device memory a box of a tensor is, and where they lie in shared memory.
#pragma once

#include <vector>

#include "exec/async_detail.h"
#include "exec/async_unit.h"
#include "tensor_map.h"

namespace vgpu {

// Reads the map from device memory or from the kernel's parameters; false, with a finding, where there is
// none.
bool read_tensor_map(Warp& w, const Op& op, int lane, uint64_t address, TensorMap* map);

// Whether a copy of this rank may start at `at`; false, with a finding, where it may not.
bool box_fits(Warp& w, const Op& op, int lane, const TensorMap& map, int rank, const int32_t* at);

uint32_t box_bytes(const TensorMap& map);
// How a reduction combines the elements.
BulkType element_type(const TensorMap& map);
// The box at these coordinates, as pieces of at most one row; `global` is 0 outside of the tensor.
std::vector<BulkPart> box_parts(const TensorMap& map, const int32_t* at, uint32_t shared);
// What fills the part of a box that lies outside of the tensor.
uint32_t fill_pattern(const TensorMap& map);

}  // namespace vgpu
