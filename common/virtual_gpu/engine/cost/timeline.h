// When a few warps of one block issued each instruction in a replay, and until when it was on its way: for a
// picture of loads beside arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vgpu {

struct PlannedOp;

// One instruction of one warp; times in cycles of the SM's clock.
struct TimelineSpan {
  int warp = 0;
  const char* kind = "";
  uint32_t op = 0;    // Op::index
  int line = 0;       // of the student's source; 0 when not known
  double wanted = 0;  // the warp was done with the instruction before it
  double issued = 0;
  double done = 0;  // its result could be read, its bytes had landed, its barrier was open
};

struct Timeline {
  static constexpr size_t kMostSpans = 6000;

  int warps = 0;     // that are shown, at most
  int resident = 0;  // blocks that share the SM with them, theirs included
  bool cut = false;  // there was more than is kept
  double cycles_per_second = 0;
  std::vector<TimelineSpan> spans;

  // Where the span stands, or -1 when there is no room for it.
  int add(int warp, const PlannedOp& op, double wanted, double issued, double done);
};

}  // namespace vgpu
