// Where the engine comes from: a socket that a trusted harness left open for this program, or an engine
// process of the program's own.
#pragma once

#include <sys/types.h>

#include <string>

namespace vgpu {

struct EngineLink {
  int socket = -1;
  pid_t child = 0;  // 0: not started by this process
  std::string why;  // a sentence when there is no socket
};

EngineLink open_engine();

// After the socket is closed: waits for an engine of our own to finish its report, and ends one that does
// not.
void reap_engine(pid_t child);

}  // namespace vgpu
