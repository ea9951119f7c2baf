// Helpers of the memory operations: addresses of lanes, checks against allocations and regions, counting.
#pragma once

#include "exec/block.h"
#include "exec/lanes.h"
#include "exec/shape.h"

namespace vgpu {

// Lane addresses of a memory op: base register plus constant offset.
inline void lane_addresses(Warp& w, const Op& op, uint64_t* out) {
  if (op.flags & kAddress64) {
    const uint64_t* base = lanes_in<uint64_t>(w, op.src[0]);
    for (int i = 0; i < kLanes; ++i) out[i] = base[i] + op.access.offset;
  } else {
    const uint32_t* base = lanes_in<uint32_t>(w, op.src[0]);
    for (int i = 0; i < kLanes; ++i)
      out[i] = static_cast<uint32_t>(base[i] + static_cast<uint32_t>(op.access.offset));
  }
}

inline void lane_addresses32(Warp& w, const Op& op, uint32_t* out) {
  if (op.flags & kAddress64) {
    const uint64_t* base = lanes_in<uint64_t>(w, op.src[0]);
    for (int i = 0; i < kLanes; ++i) out[i] = static_cast<uint32_t>(base[i] + op.access.offset);
  } else {
    const uint32_t* base = lanes_in<uint32_t>(w, op.src[0]);
    for (int i = 0; i < kLanes; ++i) out[i] = base[i] + static_cast<uint32_t>(op.access.offset);
  }
}

enum class Direction : uint8_t { kLoad, kStore, kAtomic, kAsync };

// Device memory: which lanes may go on. Reports what is wrong with the others.
Mask check_global(Warp& w, const Op& op, const uint64_t* address, uint32_t bytes, Mask mask,
                  const Shape& shape, Direction direction);
void report_bad_address(Warp& w, const Op& op, int lane, uint64_t address, uint32_t bytes,
                        Direction direction);
void count_global(Warp& w, const Op& op, const uint64_t* address, uint32_t bytes, Mask mask,
                  const Shape& shape, Direction direction);
void mark_global_written(Warp& w, const Op& op, const uint64_t* address, uint32_t bytes, Mask mask,
                         const Shape& shape);

// Shared memory: bounds and alignment.
Mask check_shared_bounds(Warp& w, const Op& op, const uint32_t* address, uint32_t bytes, Mask mask,
                         const Shape& shape, Direction direction);
void count_shared(Warp& w, const Op& op, const uint32_t* address, uint32_t bytes, Mask mask,
                  const Shape& shape, Direction direction);

// Local memory: bounds, initialisation; the host address of a lane's word.
Mask check_local(Warp& w, const Op& op, const uint32_t* address, uint32_t bytes, Mask mask,
                 Direction direction);
inline uint8_t* local_word(Warp& w, int lane, uint32_t address) {
  return w.block->local[w.id] + (address / 4) * (4 * kLanes) + static_cast<uint32_t>(lane) * 4 + address % 4;
}
void read_local(Warp& w, int lane, uint32_t address, uint32_t bytes, uint8_t* to);
void write_local(Warp& w, int lane, uint32_t address, uint32_t bytes, const uint8_t* from);

// Reads device memory for the engine itself (printf formats, assert texts): "" when it may not be read.
std::string read_device_string(const Block& b, uint64_t address, size_t most);

}  // namespace vgpu
