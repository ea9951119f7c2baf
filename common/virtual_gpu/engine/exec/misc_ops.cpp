// Small operations: generic addresses, clocks, masks, fences.
#include "exec/access.h"
#include "exec/flags.h"
#include "exec/memory_ops.h"

namespace vgpu {

void nothing(Warp&, const Op&) {}

// In shared memory the race check orders through the atomics and flags around it.
void memory_fence(Warp& w, const Op& op) {
  Block& b = *w.block;
  if (!(op.flags & kPublishes)) return;
  if (b.launch->global_race) b.launch->global_race->fence(b.linear);
  publish_to_cluster(b);
}

void not_predicate(Warp& w, const Op& op) {
  write_predicate(w, op.dst, ~predicate(w, op.src[0]));
}

void generic_from(Warp& w, const Op& op) {
  const uint64_t* s = lanes_in<uint64_t>(w, op.src[0]);
  write_lanes<false, uint64_t>(w, op.dst, [&](int i) { return s[i] + op.window; });
}

void generic_to(Warp& w, const Op& op) {
  const uint64_t* s = lanes_in<uint64_t>(w, op.src[0]);
  write_lanes<false, uint64_t>(w, op.dst, [&](int i) { return s[i] - op.window; });
}

void is_space(Warp& w, const Op& op) {
  const uint64_t* s = lanes_in<uint64_t>(w, op.src[0]);
  Mask m = 0;
  for (int i = 0; i < kLanes; ++i) {
    const uint64_t window = s[i] & ~(kWindowBytes - 1);
    bool is = false;
    switch (static_cast<ptx::Space>(op.space)) {
      case ptx::Space::kShared:
        is = window == kSharedWindow;
        break;
      case ptx::Space::kLocal:
        is = window == kLocalWindow;
        break;
      case ptx::Space::kParam:
        is = window == kParamWindow;
        break;
      case ptx::Space::kGlobal:
        is = window != kSharedWindow && window != kLocalWindow && window != kParamWindow;
        break;
      default:
        break;
    }
    m |= static_cast<Mask>(is) << i;
  }
  write_predicate(w, op.dst, m);
}

void active_mask(Warp& w, const Op& op) {
  const uint32_t m = w.exec;
  write_lanes<false, uint32_t>(w, op.dst, [&](int) { return m; });
}

void sleep_briefly(Warp& w, const Op&) {
  w.polls += 16;
}  // a thread that sleeps waits for something

namespace {

// What a look at the clock counts for, in instructions, where a loop waits for a time to come: milliseconds
// would otherwise be millions of instructions.
constexpr uint64_t kWaitingStep = 1024;

// Time as the program sees it: grows with the work the warp has done, the same on every run.
uint64_t clock_of(Warp& w, const Op& op) {
  const bool waits = (w.block->launch->kernel.flag_use[op.index] & kWaits) != 0;
  w.clock_reads += waits ? kWaitingStep : 1;
  return 4 * (w.instructions + w.clock_reads);
}

template <class T>
void write_uniform(Warp& w, const Op& op, T value) {
  write_lanes<false, T>(w, op.dst, [&](int) { return value; });
}

}  // namespace

void read_clock32(Warp& w, const Op& op) {
  write_uniform<uint32_t>(w, op, static_cast<uint32_t>(clock_of(w, op)));
}
void read_clock64(Warp& w, const Op& op) {
  write_uniform<uint64_t>(w, op, clock_of(w, op));
}
void read_clock_high(Warp& w, const Op& op) {
  write_uniform<uint32_t>(w, op, static_cast<uint32_t>(clock_of(w, op) >> 32));
}
void read_timer64(Warp& w, const Op& op) {
  write_uniform<uint64_t>(w, op, clock_of(w, op) / 2);
}
void read_timer32(Warp& w, const Op& op) {
  write_uniform<uint32_t>(w, op, static_cast<uint32_t>(clock_of(w, op) / 2));
}
void read_timer_high(Warp& w, const Op& op) {
  write_uniform<uint32_t>(w, op, static_cast<uint32_t>(clock_of(w, op) >> 33));
}

}  // namespace vgpu
