// What nvcc leaves in a program for its runtime: a container of device code, of which we want PTX as text.
#pragma once

#include <string>
#include <string_view>

namespace vgpu {

struct PtxChoice {
  std::string_view text;  // empty: `problem` says why, in a sentence
  std::string problem;
};

// The PTX for the highest compute capability (as 10 × major + minor) that the device can run.
PtxChoice choose_ptx(const void* fatbin_wrapper, int device_capability);

}  // namespace vgpu
