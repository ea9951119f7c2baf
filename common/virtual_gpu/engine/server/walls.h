// Gives up, for good, what the engine does not need: files, the network, new processes. It parses what
// programs send, so a mistake in it must not become theirs to use.
#pragma once

namespace vgpu {

// What common/sandbox/walls.py has prepared, as descriptors: the rules on files for Landlock, and the filter
// of system calls for seccomp. -1 for what the kernel lacks.
struct Walls {
  int ruleset = -1, filter = -1;
  bool asked_for = false;
};

// For this process and all that it starts. Call it while there is one thread. Throws std::runtime_error when
// a wall cannot be put up: then nothing foreign may be served.
void enter_walls(const Walls& walls);

}  // namespace vgpu
