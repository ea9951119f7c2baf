// Functions of the driver API by their names.
#include <dlfcn.h>

#include <cstring>
#include <string>

#include "driver/driver.h"

namespace vgpu {

namespace {

// This library, whatever name the program loaded it by.
void* own_library() {
  static void* const library = [] {
    Dl_info here{};
    dladdr(reinterpret_cast<void*>(&own_library), &here);
    return dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }();
  return library;
}

// cuCtxCreate takes other arguments since CUDA 13; of all others the newest form fits every caller.
constexpr const char* kForms[] = {"_v4", "_v3", "_v2", ""};
constexpr int kVersion13 = 13000;

void* find_entry(const std::string& name, int version, bool per_thread) {
  for (const char* form : kForms) {
    if (name == "cuCtxCreate" && version < kVersion13 && std::strcmp(form, "_v2") != 0) continue;
    // These two have a second form that is not a newer one of the first.
    if ((name == "cuCtxSynchronize" || name == "cuCtxGetDevice" || name == "cuStreamGetCtx") && *form != 0)
      continue;
    for (const char* twin : {"_ptsz", "_ptds", ""}) {
      if (*twin != 0 && !per_thread) continue;
      if (void* const found = dlsym(own_library(), (name + form + twin).c_str())) return found;
    }
  }
  return nullptr;
}

CUresult get_entry(const char* symbol, void** function, int version, cuuint64_t flags,
                   CUdriverProcAddressQueryResult* status) {
  if (symbol == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *function = std::strncmp(symbol, "cu", 2) == 0 && std::strncmp(symbol, "cuda", 4) != 0
                  ? find_entry(symbol, version, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0)
                  : nullptr;
  if (status != nullptr)
    *status = *function != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function != nullptr || status != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

cudaError_t get_entry_for_runtime(const char* symbol, void** function, int version, unsigned long long flags,
                                  bool per_thread, cudaDriverEntryPointQueryResult* status) {
  if (symbol == nullptr || function == nullptr) return cudaErrorInvalidValue;
  if (flags == cudaEnableDefault && per_thread) flags = cudaEnablePerThreadDefaultStream;
  CUdriverProcAddressQueryResult found{};
  get_entry(symbol, function, version, flags, &found);
  if (status != nullptr)
    *status = found == CU_GET_PROC_ADDRESS_SUCCESS ? cudaDriverEntryPointSuccess
                                                   : cudaDriverEntryPointSymbolNotFound;
  return found == CU_GET_PROC_ADDRESS_SUCCESS || status != nullptr ? cudaSuccess : cudaErrorSymbolNotFound;
}

}  // namespace

}  // namespace vgpu

VGPU_DRIVER(cuGetProcAddress_v2, kNothing,
            (const char* symbol, void** function, int version, cuuint64_t flags,
             CUdriverProcAddressQueryResult* status),
            (symbol, function, version, flags, status)) {
  return vgpu::get_entry(symbol, function, version, flags, status);
}

VGPU_DRIVER(cuGetProcAddress, kNothing, (const char* symbol, void** function, int version, cuuint64_t flags),
            (symbol, function, version, flags)) {
  return vgpu::get_entry(symbol, function, version, flags, nullptr);
}

VGPU_TWINS(cudaGetDriverEntryPointByVersion, _ptsz,
           (const char* symbol, void** function, unsigned version, unsigned long long flags,
            cudaDriverEntryPointQueryResult* status),
           (symbol, function, version, flags, status)) {
  return vgpu::get_entry_for_runtime(symbol, function, static_cast<int>(version), flags,
                                     null_stream == vgpu::NullStream::kPerThread, status);
}

VGPU_TWINS(cudaGetDriverEntryPoint, _ptsz,
           (const char* symbol, void** function, unsigned long long flags,
            cudaDriverEntryPointQueryResult* status),
           (symbol, function, flags, status)) {
  return vgpu::get_entry_for_runtime(symbol, function, CUDART_VERSION, flags,
                                     null_stream == vgpu::NullStream::kPerThread, status);
}
