// How a function of the CUDA driver API is written here: over the runtime API and its parts, which share the
// engine, its streams and its memory with it. The numbers of most errors are the same in both APIs.
#pragma once

#include "api.h"
// After api.h, which asks for every version of a function under its own name.
#include <cuda.h>

#include "driver/contexts.h"

namespace vgpu {

CUresult answer(cudaError_t error);

// What must have happened before a call: nothing, cuInit (or a call of the runtime API), or a context that is
// current to the thread.
enum class Needs { kNothing, kInit, kContext };
CUresult check_ready(Needs needs);

template <typename Body>
CUresult driver_call(const void* caller, Needs needs, Body&& body) {
  const ApiCall call(caller, wire::Api::kDriver);
  try {
    const CUresult ready = check_ready(needs);
    return ready != CUDA_SUCCESS ? ready : body();
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception& problem) {
    say("an unexpected problem in the runtime library: %s", problem.what());
    return CUDA_ERROR_UNKNOWN;
  }
}

inline void* pointer(CUdeviceptr address) {
  return reinterpret_cast<void*>(address);
}

}  // namespace vgpu

// VGPU_DRIVER(cuMemFree_v2, kContext, (CUdeviceptr address), (address)) { return …; }
#define VGPU_DRIVER(name, needs, params, args)                                \
  static CUresult name##_body params;                                         \
  VGPU_API CUresult name params {                                             \
    return vgpu::driver_call(__builtin_return_address(0), vgpu::Needs::needs, \
                             [&] { return name##_body args; });               \
  }                                                                           \
  static CUresult name##_body params

// VGPU_DRIVER_TWINS(cuLaunchKernel, _ptsz, (…, CUstream stream), (…, stream)) { … on(stream) … }
#define VGPU_DRIVER_TWINS(name, suffix, params, args)                                                        \
  namespace {                                                                                                \
  struct name##_body : vgpu::StreamChoice {                                                                  \
    CUresult operator() params const;                                                                        \
    cudaStream_t stream_of(CUstream stream) const { return reinterpret_cast<cudaStream_t>(on(stream)); }     \
  };                                                                                                         \
  }                                                                                                          \
  VGPU_API CUresult name params {                                                                            \
    const name##_body body{{vgpu::NullStream::kLegacy}};                                                     \
    return vgpu::driver_call(__builtin_return_address(0), vgpu::Needs::kContext, [&] { return body args; }); \
  }                                                                                                          \
  VGPU_API CUresult name##suffix params {                                                                    \
    const name##_body body{{vgpu::NullStream::kPerThread}};                                                  \
    return vgpu::driver_call(__builtin_return_address(0), vgpu::Needs::kContext, [&] { return body args; }); \
  }                                                                                                          \
  inline CUresult name##_body::operator() params const
