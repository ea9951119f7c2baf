// tensormap.replace and tensormap.cp_fenceproxy: a kernel changes fields of a tensor map in memory, and
// copies the map from shared to global memory.
#include <algorithm>
#include <cstring>

#include "checks/bulk_operands.h"
#include "checks/report.h"
#include "checks/shared_check.h"
#include "cuda_error.h"
#include "exec/access.h"
#include "exec/async_detail.h"
#include "exec/bulk_ops.h"
#include "tensor_map.h"

namespace vgpu {

namespace {

// The map's bytes in this engine, for reading or writing; nullptr, with a finding, where there are none.
uint8_t* map_in_shared(Warp& w, const Op& op, int lane, uint32_t address, SharedUse use) {
  Block& b = *w.block;
  uint32_t addresses[kLanes] = {};
  addresses[lane] = address;
  const Mask bit = 1u << lane;
  const Shape shape = shape_of(addresses, bit, sizeof(TensorMap));
  const Direction direction = use == SharedUse::kWrite ? Direction::kStore : Direction::kLoad;
  if (check_shared_bounds(w, op, addresses, sizeof(TensorMap), bit, shape, direction) == 0) return nullptr;
  if (b.watch_shared) check_shared(w, op, addresses, sizeof(TensorMap), bit, shape, use, false);
  return b.shared.data() + address;
}

uint8_t* map_in_global(Warp& w, const Op& op, int lane, uint64_t address) {
  Block& b = *w.block;
  uint64_t addresses[kLanes] = {};
  addresses[lane] = address;
  const Mask bit = 1u << lane;
  const Shape shape = shape_of(addresses, bit, sizeof(TensorMap));
  if (check_global(w, op, addresses, sizeof(TensorMap), bit, shape, Direction::kStore) == 0) return nullptr;
  if (b.options->check_init) mark_global_written(w, op, addresses, sizeof(TensorMap), bit, shape);
  ++b.changes;
  ++w.global_stores;
  return DeviceMemory::host(address);
}

// PTX numbers the types in another order than CUtensorMapDataType.
constexpr uint8_t kTypeOfPtx[] = {0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 9, 11, 12};

// Of an im2col map, these change what the corners of its bounding box are.
bool changes_corners(const TensorMap& map, const BulkDetail& d) {
  const auto& bytes = map.box_minus_1;
  const bool has_corners =
      std::any_of(bytes + 1, bytes + kMostTensorDimensions, [](uint8_t b) { return b != 0; });
  return map.im2col &&
         (d.field == MapField::kBox ? d.ordinal > 0 : d.field == MapField::kRank && has_corners);
}

// As the machine code does that ptxas makes of tensormap.replace: fields keep the bits that they have room
// for.
void put(TensorMap& map, MapField field, int ordinal, uint64_t value) {
  constexpr uint64_t kStrideBits = 0xff'ffff'fff0;
  switch (field) {
    case MapField::kAddress:
      map.base = value;
      break;
    case MapField::kRank:
      map.rank = static_cast<uint8_t>((value & 7) + 1);
      break;
    case MapField::kBox:
      map.box_minus_1[ordinal] = static_cast<uint8_t>(value - 1);
      break;
    case MapField::kSize:
      map.size_minus_1[ordinal] = static_cast<uint32_t>(value - 1);
      break;
    case MapField::kStride:
      map.stride[ordinal] = value & kStrideBits;
      break;
    case MapField::kElementStride:
      map.element_stride[ordinal] = static_cast<uint8_t>(((value - 1) & 7) + 1);
      break;
    case MapField::kElementType:
      set_tensor_type(map, kTypeOfPtx[value]);
      break;
    case MapField::kInterleave:
      map.interleave = static_cast<uint8_t>(value);
      break;
    case MapField::kSwizzle:
      map.swizzle = static_cast<uint8_t>(value);
      break;
    case MapField::kFill:
      map.fill = static_cast<uint8_t>(value);
      break;
  }
}

// Where the map is that a thread changes: an address without a state space may be of either.
bool is_in_shared(const BulkDetail& d, uint64_t address) {
  return d.map_place == MapPlace::kShared ||
         (d.map_place == MapPlace::kGeneric && (address & ~(kWindowBytes - 1)) == kSharedWindow);
}

}  // namespace

void replace_map_field(Warp& w, const Op& op) {
  const BulkDetail& d = *op.bulk;
  for (Mask m = w.exec; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    const uint64_t address = place_value(w, op, d.destination, lane);
    uint8_t* const bytes =
        is_in_shared(d, address)
            ? map_in_shared(w, op, lane, in_block(static_cast<uint32_t>(address)), SharedUse::kWrite)
            : map_in_global(w, op, lane, address);
    if (bytes == nullptr) continue;
    TensorMap map;
    std::memcpy(&map, bytes, sizeof map);
    if (map.magic != kTensorMapMagic) {
      set_launch_error(*w.block, cuda::kIllegalInstruction);
      checks::no_tensor_map_copied(w, op, lane, address);
      continue;
    }
    if (changes_corners(map, d)) checks::replaces_corners(w, op, lane, d.field == MapField::kRank, d.ordinal);
    put(map, d.field, d.ordinal, place_value(w, op, d.source, lane));
    std::memcpy(bytes, &map, sizeof map);
  }
}

void copy_map(Warp& w, const Op& op) {
  const BulkDetail& d = *op.bulk;
  const int lane = first_lane(w.exec);  // all lanes name the same places
  const uint8_t* const from =
      map_in_shared(w, op, lane, in_block(place_value32(w, op, d.source, lane)), SharedUse::kRead);
  uint8_t* const to = map_in_global(w, op, lane, place_value(w, op, d.destination, lane));
  if (from == nullptr || to == nullptr) return;
  std::memcpy(to, from, sizeof(TensorMap));
  if (w.block->worker->proxies) w.block->worker->proxies->map_copied(place_value(w, op, d.destination, lane));
}

}  // namespace vgpu
