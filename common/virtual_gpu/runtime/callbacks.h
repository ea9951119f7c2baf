// Host functions that the program may wait for without a CUDA call.
#pragma once

#include <cstdint>

namespace vgpu {

// A host function was queued on the stream: it runs soon, whether or not the program waits for the stream.
void expect_callback(uint64_t stream);

// The same for graphs: one was captured with a host function, and a graph was launched.
void note_captured_callback();
void expect_graph_callbacks(uint64_t stream);

}  // namespace vgpu
