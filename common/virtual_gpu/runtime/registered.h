// Memory of the program's own that was registered with cudaHostRegister.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vgpu {

struct Registered {
  char* host = nullptr;
  size_t bytes = 0;
  unsigned flags = 0;
  uint64_t device = 0;      // where kernels find the first byte
  uint64_t allocation = 0;  // of pinned memory, which holds it
};

// The registration that a pointer lies in; false where there is none.
bool find_registered(const void* pointer, Registered* found);

}  // namespace vgpu
