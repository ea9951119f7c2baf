// Operations that lanes of a warp do together: what they are called and how they are encoded in an Op.
#pragma once

#include <cstdint>

namespace vgpu {

// Sources: src[0] value (or predicate), src[1] lane operand, src[2] clamp, src[3] membership mask.
enum class WarpSync : uint8_t {
  kMeet,  // bar.warp.sync
  kShuffleUp,
  kShuffleDown,
  kShuffleXor,
  kShuffleIndex,
  kVoteAll,
  kVoteAny,
  kVoteUniform,
  kBallot,
  kMatchAny32,
  kMatchAny64,
  kMatchAll32,
  kMatchAll64,
  kReduceAdd,
  kReduceMinU,
  kReduceMaxU,
  kReduceMinS,
  kReduceMaxS,
  kReduceAnd,
  kReduceOr,
  kReduceXor,
  kElect,
};

// Sources of a barrier: src[0] id, src[1] thread count (slot 0: the whole block), src[2] predicate.
enum class BarrierOp : uint8_t { kSync, kArrive, kCount, kAnd, kOr, kClusterArrive, kClusterWait };

}  // namespace vgpu
