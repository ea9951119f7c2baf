// The cudaError_t values the engine answers with. The runtime library owns the full table of texts; the
// engine needs the numbers, and the names for its reports.
#pragma once

namespace vgpu::cuda {

enum Error : int {
  kSuccess = 0,
#define CUDA_ERROR(name, number) k##name = number,
#include "cuda_error.def"
};

// "cudaErrorIllegalAddress"; a phrase that says so for a number that is not in the table.
const char* error_name(int error);

}  // namespace vgpu::cuda
