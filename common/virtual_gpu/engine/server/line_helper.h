// A process that looks up source lines for an engine behind walls, behind walls of its own: it may run the
// tool that does so, and read the files that it is allowed to.
#pragma once

#include <sys/types.h>

#include "server/addr2line.h"
#include "server/walls.h"

namespace vgpu {

class LineHelper {
 public:
  // Forks. `close_there` are descriptors that the helper must not keep.
  LineHelper(const Walls& walls, const std::vector<int>& close_there);
  ~LineHelper();
  LineHelper(const LineHelper&) = delete;
  LineHelper& operator=(const LineHelper&) = delete;

  // As addr2line(); nothing where the helper has died.
  LinesByOffset look_up(const std::string& object_file, const std::vector<uint64_t>& offsets);

 private:
  int socket_ = -1;
  pid_t process_ = -1;
};

}  // namespace vgpu
