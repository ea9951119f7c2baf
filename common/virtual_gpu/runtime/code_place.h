// Where in the program's own machine code something happened, as object files count it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "protocol.h"

namespace vgpu {

// The return address of the API function that this thread is in, and which API it belongs to.
extern thread_local const void* api_caller;
extern thread_local wire::Api api_called;

struct LoadedCode {
  const char* file = nullptr;   // the loader's own string; empty for the program itself
  uint64_t load_address = 0;    // what an address in memory is above the file's own
  uint64_t begin = 0, end = 0;  // the segment that holds the address
};

// The object file that holds an address; `file` is null when none does. Async-signal-safe.
LoadedCode find_code(uint64_t address);

// The file's path as another process can open it. Not for signal handlers.
std::string path_of(const LoadedCode& code);

// Segments whose object file the engine has a number for.
class KnownCode {
 public:
  // The place of the instruction that the return address follows. register_path(path) asks the engine for a
  // number the first time an object file is met; 0 where it has none.
  template <typename RegisterPath>
  wire::CodePlace place(const void* return_address, RegisterPath&& register_path) {
    const uint64_t call = reinterpret_cast<uint64_t>(return_address) - 1;
    if (return_address == nullptr) return {};
    for (const Segment& known : segments_) {
      if (call - known.code.begin < known.code.end - known.code.begin) return known.place(call);
    }
    const LoadedCode code = find_code(call);
    if (code.file == nullptr) return {};
    segments_.push_back({code, register_path(path_of(code))});
    return segments_.back().place(call);
  }
  // After an object file was unloaded, when another may come to lie at its addresses.
  void forget() { segments_.clear(); }

 private:
  struct Segment {
    LoadedCode code;
    uint32_t module;
    wire::CodePlace place(uint64_t address) const {
      return {address - code.load_address, module, api_called};
    }
  };
  std::vector<Segment> segments_;
};

}  // namespace vgpu
