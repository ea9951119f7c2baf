// Modules and libraries of the driver API: PTX that the program brings along or makes while it runs.
#include <cstring>
#include <memory>
#include <string>

#include "driver/driver.h"
#include "driver/module_image.h"
#include "modules.h"

namespace vgpu {

namespace {

Module* module_at(const void* handle) {
  return static_cast<Module*>(const_cast<void*>(handle));
}

CUresult load_image(const void* image, void** handle) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::string text;
  if (const CUresult wrong = image_text(image, &text); wrong != CUDA_SUCCESS) return wrong;
  Module* made = nullptr;
  const cudaError_t error = Registry::get().add_text(std::move(text), &made);
  *handle = made;
  return answer(error);
}

CUresult load_file(const char* path, void** handle) {
  std::string bytes;
  const CUresult read = read_image(path, &bytes);
  return read != CUDA_SUCCESS ? read : load_image(bytes.data(), handle);
}

CUresult unload(const void* handle) {
  Registry& registry = Registry::get();
  if (!registry.has(module_at(handle))) return CUDA_ERROR_INVALID_HANDLE;
  registry.remove(module_at(handle));
  return CUDA_SUCCESS;
}

CUresult get_function(const void* handle, const char* name, void** out) {
  if (name == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Function* found = nullptr;
  const cudaError_t error = Registry::get().function(module_at(handle), name, &found);
  *out = found;
  return error == cudaErrorInvalidDeviceFunction ? CUDA_ERROR_NOT_FOUND : answer(error);
}

CUresult get_variable(const void* handle, const char* name, CUdeviceptr* address, size_t* bytes) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  wire::SymbolReply found{};
  const cudaError_t error = Registry::get().variable(module_at(handle), name, &found);
  if (error != cudaSuccess) return answer(error);
  if (address != nullptr) *address = found.address;
  if (bytes != nullptr) *bytes = found.bytes;
  return CUDA_SUCCESS;
}

// The engine has no compiler to set up; what it has to say of a module goes to stderr. Logs stay empty.
void answer_jit_options(unsigned count, const CUjit_option* options, void** values) {
  const void* log = nullptr;
  for (unsigned i = 0; i < count && options != nullptr && values != nullptr; ++i) {
    switch (options[i]) {
      case CU_JIT_INFO_LOG_BUFFER:
      case CU_JIT_ERROR_LOG_BUFFER:
        log = values[i];
        if (log != nullptr) *static_cast<char*>(values[i]) = 0;
        break;
      case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
      case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
        values[i] = nullptr;  // so many bytes were written
        break;
      case CU_JIT_WALL_TIME: {
        const float none = 0;
        std::memcpy(&values[i], &none, sizeof none);
        break;
      }
      default:
        break;
    }
  }
}

// What cuLinkCreate makes: the texts so far, and the image at the end.
struct LinkState {
  std::string text, image;
};

LinkState& link_at(CUlinkState state) {
  return *reinterpret_cast<LinkState*>(state);
}

CUresult add_to_link(CUlinkState state, CUjitInputType type, const void* data, size_t bytes) {
  if (state == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type == CU_JIT_INPUT_LIBRARY) return CUDA_SUCCESS;  // cudadevrt, which the engine does without
  const std::string copied(static_cast<const char*>(data), bytes);  // ends in a zero byte, too
  std::string text;
  if (const CUresult wrong = image_text(copied.c_str(), &text); wrong != CUDA_SUCCESS) return wrong;
  LinkState& link = link_at(state);
  if (!link.text.empty()) link.text.push_back(wire::kBetweenModules);
  link.text += text;
  return CUDA_SUCCESS;
}

}  // namespace

}  // namespace vgpu

VGPU_DRIVER(cuModuleLoad, kContext, (CUmodule * module, const char* path), (module, path)) {
  return vgpu::load_file(path, reinterpret_cast<void**>(module));
}

VGPU_DRIVER(cuModuleLoadData, kContext, (CUmodule * module, const void* image), (module, image)) {
  return vgpu::load_image(image, reinterpret_cast<void**>(module));
}

VGPU_DRIVER(cuModuleLoadDataEx, kContext,
            (CUmodule * module, const void* image, unsigned count, CUjit_option* options, void** values),
            (module, image, count, options, values)) {
  vgpu::answer_jit_options(count, options, values);
  return vgpu::load_image(image, reinterpret_cast<void**>(module));
}

VGPU_DRIVER(cuModuleLoadFatBinary, kContext, (CUmodule * module, const void* fatbin), (module, fatbin)) {
  return vgpu::load_image(fatbin, reinterpret_cast<void**>(module));
}

VGPU_DRIVER(cuModuleUnload, kContext, (CUmodule module), (module)) {
  return vgpu::unload(module);
}

VGPU_DRIVER(cuModuleGetFunction, kContext, (CUfunction * function, CUmodule module, const char* name),
            (function, module, name)) {
  return vgpu::get_function(module, name, reinterpret_cast<void**>(function));
}

VGPU_DRIVER(cuModuleGetGlobal_v2, kContext,
            (CUdeviceptr * address, size_t* bytes, CUmodule module, const char* name),
            (address, bytes, module, name)) {
  return vgpu::get_variable(module, name, address, bytes);
}

VGPU_DRIVER(cuModuleGetLoadingMode, kInit, (CUmoduleLoadingMode * mode), (mode)) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

VGPU_DRIVER(cuLinkCreate_v2, kContext,
            (unsigned count, CUjit_option* options, void** values, CUlinkState* state),
            (count, options, values, state)) {
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  vgpu::answer_jit_options(count, options, values);
  *state = reinterpret_cast<CUlinkState>(new vgpu::LinkState);
  return CUDA_SUCCESS;
}

VGPU_DRIVER(cuLinkAddData_v2, kContext,
            (CUlinkState state, CUjitInputType type, void* data, size_t bytes, const char*, unsigned count,
             CUjit_option* options, void** values),
            (state, type, data, bytes, nullptr, count, options, values)) {
  vgpu::answer_jit_options(count, options, values);
  return vgpu::add_to_link(state, type, data, bytes);
}

VGPU_DRIVER(cuLinkAddFile_v2, kContext,
            (CUlinkState state, CUjitInputType type, const char* path, unsigned count, CUjit_option* options,
             void** values),
            (state, type, path, count, options, values)) {
  vgpu::answer_jit_options(count, options, values);
  if (type == CU_JIT_INPUT_LIBRARY) return CUDA_SUCCESS;
  std::string bytes;
  const CUresult read = vgpu::read_image(path, &bytes);
  return read != CUDA_SUCCESS ? read : vgpu::add_to_link(state, type, bytes.data(), bytes.size());
}

VGPU_DRIVER(cuLinkComplete, kContext, (CUlinkState state, void** image, size_t* bytes),
            (state, image, bytes)) {
  if (state == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  vgpu::LinkState& link = vgpu::link_at(state);
  link.image = vgpu::linked_image(link.text);
  *image = link.image.data();
  if (bytes != nullptr) *bytes = link.image.size();
  return CUDA_SUCCESS;
}

VGPU_DRIVER(cuLinkDestroy, kContext, (CUlinkState state), (state)) {
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  delete &vgpu::link_at(state);
  return CUDA_SUCCESS;
}

VGPU_DRIVER(cuLibraryLoadData, kInit,
            (CUlibrary * library, const void* code, CUjit_option* options, void** values, unsigned count,
             CUlibraryOption*, void**, unsigned),
            (library, code, options, values, count, nullptr, nullptr, 0)) {
  vgpu::answer_jit_options(count, options, values);
  return vgpu::load_image(code, reinterpret_cast<void**>(library));
}

VGPU_DRIVER(cuLibraryLoadFromFile, kInit,
            (CUlibrary * library, const char* path, CUjit_option* options, void** values, unsigned count,
             CUlibraryOption*, void**, unsigned),
            (library, path, options, values, count, nullptr, nullptr, 0)) {
  vgpu::answer_jit_options(count, options, values);
  return vgpu::load_file(path, reinterpret_cast<void**>(library));
}

VGPU_DRIVER(cuLibraryUnload, kInit, (CUlibrary library), (library)) {
  return vgpu::unload(library);
}

VGPU_DRIVER(cuLibraryGetKernel, kInit, (CUkernel * kernel, CUlibrary library, const char* name),
            (kernel, library, name)) {
  return vgpu::get_function(library, name, reinterpret_cast<void**>(kernel));
}

VGPU_DRIVER(cuLibraryGetModule, kContext, (CUmodule * module, CUlibrary library), (module, library)) {
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *module = reinterpret_cast<CUmodule>(library);
  return CUDA_SUCCESS;
}

VGPU_DRIVER(cuLibraryGetGlobal, kContext,
            (CUdeviceptr * address, size_t* bytes, CUlibrary library, const char* name),
            (address, bytes, library, name)) {
  return vgpu::get_variable(library, name, address, bytes);
}

VGPU_DRIVER(cuKernelGetFunction, kContext, (CUfunction * function, CUkernel kernel), (function, kernel)) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}
