// What the host code made by nvcc calls before main() and around a <<<>>> launch.
#include <vector>

#include "api.h"
#include "modules.h"

namespace {

struct CallConfiguration {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
};
// A stack: an argument of a launch may itself launch.
thread_local std::vector<CallConfiguration> configurations;

vgpu::Module* module_of(void** handle) {
  return reinterpret_cast<vgpu::Module*>(handle);
}

}  // namespace

VGPU_API void** __cudaRegisterFatBinary(void* fatbin) {
  return reinterpret_cast<void**>(vgpu::Registry::get().add(fatbin));
}

VGPU_API void __cudaRegisterFatBinaryEnd(void**) {}

// A file that was compiled with -rdc=true. `*linked` is the module of all such files of a program or library,
// and null for the first of them; the code that calls this is made when they are linked.
VGPU_API void __vgpuRegisterLinkedBinary(void*** linked, void (*register_entities)(void**), void* fatbin) {
  if (*linked == nullptr) {
    *linked = __cudaRegisterFatBinary(fatbin);
  } else {
    vgpu::Registry::get().link(module_of(*linked), fatbin);
  }
  register_entities(*linked);
}

VGPU_API void __cudaUnregisterFatBinary(void** handle) {
  vgpu::Registry::get().remove(module_of(handle));
}

VGPU_API void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, uint3*,
                                     uint3*, dim3*, dim3*, int*) {
  vgpu::Registry::get().add_function(module_of(handle), host, name);
}

VGPU_API void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int, size_t, int, int) {
  vgpu::Registry::get().add_variable(module_of(handle), host, name, nullptr);
}

VGPU_API void __cudaRegisterManagedVar(void** handle, void** host, char*, const char* name, int, size_t, int,
                                       int) {
  vgpu::Registry::get().add_variable(module_of(handle), host, name, host);
}

// Host code touches a managed variable for the first time: it needs its address now.
VGPU_API char __cudaInitModule(void** handle) {
  const cudaError_t error = vgpu::recorded(__builtin_return_address(0),
                                           [&] { return vgpu::Registry::get().load(module_of(handle)); });
  return error == cudaSuccess ? 1 : 0;
}

VGPU_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream_st* stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}

VGPU_API cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  if (configurations.empty()) return vgpu::record_error(cudaErrorMissingConfiguration);
  const CallConfiguration& top = configurations.back();
  *grid = top.grid;
  *block = top.block;
  *shared = top.shared;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  configurations.pop_back();
  return cudaSuccess;
}

VGPU_ENTRY(__cudaGetKernel, (cudaKernel_t * kernel, const void* host), (kernel, host)) {
  vgpu::Function* const function = vgpu::Registry::get().handle(host);
  *kernel = reinterpret_cast<cudaKernel_t>(function);
  return function != nullptr ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

VGPU_ENTRY(cudaGetKernel, (cudaKernel_t * kernel, const void* host), (kernel, host)) {
  if (kernel == nullptr) return cudaErrorInvalidValue;
  vgpu::Function* const function = vgpu::Registry::get().handle(host);
  if (function == nullptr) return cudaErrorInvalidDeviceFunction;
  *kernel = reinterpret_cast<cudaKernel_t>(function);
  return cudaSuccess;
}

VGPU_ENTRY(cudaGetFuncBySymbol, (cudaFunction_t * out, const void* host), (out, host)) {
  if (out == nullptr) return cudaErrorInvalidValue;
  vgpu::Function* const function = vgpu::Registry::get().handle(host);
  if (function == nullptr) return cudaErrorInvalidDeviceFunction;
  *out = reinterpret_cast<cudaFunction_t>(function);
  return cudaSuccess;
}
