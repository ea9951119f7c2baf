#include "cuda_error.h"

namespace vgpu::cuda {

const char* error_name(int error) {
  switch (error) {
    case kSuccess:
      return "cudaSuccess";
#define CUDA_ERROR(name, number) \
  case number:                   \
    return "cudaError" #name;
#include "cuda_error.def"
  }
  return "a cudaError_t without a name here";
}

}  // namespace vgpu::cuda
