// What an instruction of the asynchronous units says beside its operands, which are all in Op::list.
#pragma once

#include <cstdint>

#include "exec/lanes.h"

namespace vgpu {

// An operand: where Op::list has its register, and what is added to it.
struct Place {
  int8_t at = -1;  // none
  bool wide = false;
  uint64_t offset = 0;
};

inline uint64_t place_value(const Warp& w, const Op& op, const Place& p, int lane) {
  const uint64_t base =
      p.wide ? lanes_in<uint64_t>(w, op.list[p.at])[lane] : lanes_in<uint32_t>(w, op.list[p.at])[lane];
  return base + p.offset;
}
inline uint32_t place_value32(const Warp& w, const Op& op, const Place& p, int lane) {
  return static_cast<uint32_t>(place_value(w, op, p, lane));
}

enum class MbarrierOp : uint8_t { kInit, kInval, kExpect, kComplete, kArrive, kTestWait, kCopyArrive };

struct MbarrierDetail {
  MbarrierOp what{};
  bool drops = false;
  bool expects = false;      // arrive.expect_tx
  bool no_complete = false;  // arrive.noComplete
  bool by_parity = false;
  bool no_increment = false;  // cp.async.mbarrier.arrive.noinc
  bool acquires = true, releases = true;
  bool in_cluster = false;  // the address may be another block's
  Place address, value, second;
};

enum class BulkKind : uint8_t { kLoad, kToCluster, kStore, kPrefetch, kCommit, kWait, kValues };
enum class BulkReduction : uint8_t { kNone, kAdd, kMin, kMax, kInc, kDec, kAnd, kOr, kXor };
enum class BulkType : uint8_t { kBits, kU32, kS32, kU64, kS64, kF16, kBf16, kF32, kF64 };

// Of a tensor map, for tensormap.replace.
enum class MapField : uint8_t {
  kAddress,
  kRank,
  kBox,
  kSize,
  kStride,
  kElementStride,
  kElementType,
  kInterleave,
  kSwizzle,
  kFill
};

// The state space that tensormap.replace names.
enum class MapPlace : uint8_t { kGeneric, kGlobal, kShared };

struct BulkDetail {
  BulkKind kind{};
  BulkReduction reduction = BulkReduction::kNone;
  BulkType type{};
  bool waits_for_reads = false;  // wait_group.read
  uint32_t groups = 0;           // that may stay in flight
  int rank = 0;                  // of a tensor copy; 0: plain bytes
  bool multicast = false;
  bool im2col = false;
  Place destination, source, size, barrier, blocks;
  Place map, coordinates[5];  // of kValues: the values
  Place offsets[3];           // of an im2col load: from the pixel to the one that is loaded, W first
  int values = 0, value_bytes = 0;
  MapField field{};  // of tensormap.replace, with the map in `destination` and the value in `source`
  int ordinal = 0;
  MapPlace map_place{};
};

}  // namespace vgpu
