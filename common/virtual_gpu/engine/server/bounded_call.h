// One call of a program's entry point, bounded by the harness's own requests: what ran outside its bounds,
// and what the program did to its stream. Nothing that the program sends can move the bounds.
#pragma once

#include <cstdint>

#include "protocol.h"

namespace vgpu {

struct BoundedCall {
  static constexpr int kNotReached = -1;

  uint64_t stream = 0;  // 0: no call since the last reset
  bool open = false;    // between the harness's two requests
  // How many launches had run when the stream reached each bound. The scheduler runs what it may as late
  // queued work first: a launch that does not wait for the stream comes before the first bound, and one that
  // the stream does not wait for comes behind the second.
  int began = kNotReached, ended = kNotReached;
  uint64_t copies_outside = 0;  // copies and fills by the runtime that ran outside the bounds
  uint64_t late_requests = 0;   // that the program made when the call had returned
  bool captured = false;        // the program captured the stream
  bool destroyed = false;       // the program destroyed the stream or reset the device
  const char* waited = "";      // how the program first waited for the device
  wire::CodePlace waited_at{};

  bool outside() const { return stream != 0 && (began == kNotReached || ended != kNotReached); }
  void note_wait(const char* how, const wire::CodePlace& where) {
    if (!open || *waited != '\0') return;
    waited = how;
    waited_at = where;
  }
};

}  // namespace vgpu
