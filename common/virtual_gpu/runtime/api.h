// How a function of the CUDA runtime API is written here: against NVIDIA's own declarations, once for each
// pair of names, with its answer remembered for cudaGetLastError and no exception let out.
#pragma once

// With this the toolkit's header declares each stream function under both of its names: the plain one, whose
// stream 0 is the legacy stream, and its _ptsz/_ptds twin, whose stream 0 is the calling thread's own.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda_runtime_api.h>

#include <cstdint>
#include <exception>
#include <new>

#include "code_place.h"
#include "errors.h"
#include "streams.h"

#define VGPU_API extern "C" __attribute__((visibility("default")))

namespace vgpu {

inline thread_local int api_depth = 0;
inline thread_local bool runtime_used = false;  // this thread has called the runtime API

// A call of the program's, for as long as it lasts. `caller` is the return address of the exported function:
// the line that a finding of this call names. The driver API calls the runtime API inside of one.
class ApiCall {
 public:
  explicit ApiCall(const void* caller, wire::Api api = wire::Api::kRuntime) : outermost_(api_depth++ == 0) {
    if (!outermost_) return;
    api_caller = caller;
    api_called = api;
  }
  ~ApiCall() { --api_depth; }
  ApiCall(const ApiCall&) = delete;
  bool is_outermost() const { return outermost_; }

 private:
  const bool outermost_;
};

template <typename Body>
cudaError_t recorded(const void* caller, Body&& body) {
  const ApiCall call(caller);
  runtime_used |= call.is_outermost();
  const auto answered = [&](cudaError_t error) { return call.is_outermost() ? record_error(error) : error; };
  try {
    return answered(body());
  } catch (const std::bad_alloc&) {
    return answered(cudaErrorMemoryAllocation);
  } catch (const std::exception& problem) {
    say("an unexpected problem in the runtime library: %s", problem.what());
    return answered(cudaErrorUnknown);
  }
}

}  // namespace vgpu

// VGPU_ENTRY(cudaFree, (void* address), (address)) { return …; }
#define VGPU_ENTRY(name, params, args)                                                    \
  static cudaError_t name##_body params;                                                  \
  VGPU_API cudaError_t name params {                                                      \
    return vgpu::recorded(__builtin_return_address(0), [&] { return name##_body args; }); \
  }                                                                                       \
  static cudaError_t name##_body params

// VGPU_TWINS(cudaMemsetAsync, _ptsz, (…, cudaStream_t stream), (…, stream)) { … on(stream) … }
#define VGPU_TWINS(name, suffix, params, args)               \
  namespace {                                                \
  struct name##_body : vgpu::StreamChoice {                  \
    cudaError_t operator() params const;                     \
  };                                                         \
  }                                                          \
  VGPU_API cudaError_t name params {                         \
    return vgpu::recorded(__builtin_return_address(0), [&] { \
      return name##_body {                                   \
        {                                                    \
          vgpu::NullStream::kLegacy                          \
        }                                                    \
      }                                                      \
      args;                                                  \
    });                                                      \
  }                                                          \
  VGPU_API cudaError_t name##suffix params {                 \
    return vgpu::recorded(__builtin_return_address(0), [&] { \
      return name##_body {                                   \
        {                                                    \
          vgpu::NullStream::kPerThread                       \
        }                                                    \
      }                                                      \
      args;                                                  \
    });                                                      \
  }                                                          \
  inline cudaError_t name##_body::operator() params const
