// Which stream a call means. Handles of streams are the engine's ids; 0, 1 and 2 are CUDA's special ones.
#pragma once

#include <driver_types.h>

#include <cstdint>

namespace vgpu {

enum class NullStream { kLegacy, kPerThread };

// The base of every stream function: the plain name and the _ptsz name differ in what stream 0 stands for.
struct StreamChoice {
  NullStream null_stream;
  uint64_t on(cudaStream_t stream) const;
  uint64_t on_default() const { return on(nullptr); }
};

// Streams of other threads, and what was known of created ones, go with the device's state.
void forget_streams();

}  // namespace vgpu
