// What device code asks for while its grid runs: launches, copies and fills. They are done when the grid has
// ended, in the order of asking, which keeps the order of every stream of device code.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <variant>
#include <vector>

#include "device/transfer.h"
#include "exec/launch.h"

namespace vgpu {

struct ChildTask {
  std::variant<LaunchRequest, CopyPlan, FillPlan> what;
  bool at_the_end = false;  // a tail launch: after everything else that the grid has asked for
};

struct Condition {  // of a graph's conditional nodes
  uint32_t value = 0, first_value = 0;
};

// Of one grid. Such a grid runs its blocks one after the other, on one thread.
class ChildWork {
 public:
  static constexpr int kDeepest = 24;         // grids that may launch each other, as on hardware
  static constexpr size_t kMost = 1u << 18;   // tasks of one grid
  static constexpr uint64_t kLongest = 4096;  // bytes of parameters

  ChildWork(DeviceMemory& memory, std::map<uint64_t, Condition>& by_handle)
      : conditions(by_handle), memory_(memory) {}
  ~ChildWork();
  ChildWork(const ChildWork&) = delete;

  // Device memory for the parameters of a launch; 0 when there is none left.
  uint64_t parameter_buffer(uint64_t bytes);
  // The same for a string, which stays there as long as the grid runs.
  uint64_t text_address(const char* text);

  std::map<uint64_t, Condition>& conditions;
  struct Prepared {  // a launch whose parameters are being written
    uint64_t function;
    Dim3 grid, block;
    uint32_t shared;
  };
  std::map<uint64_t, Prepared> prepared;          // by parameter buffer
  std::vector<ChildTask> tasks;                   // in the order of asking
  std::unordered_map<uint64_t, int> last_errors;  // of each thread that met one
  uint64_t next_handle = 16;                      // of streams and events, which need no more than a number

 private:
  DeviceMemory& memory_;
  std::vector<uint64_t> slabs_;
  std::map<const char*, uint64_t> texts_;
  uint64_t free_ = 0, end_ = 0;  // the rest of the last slab
};

}  // namespace vgpu
