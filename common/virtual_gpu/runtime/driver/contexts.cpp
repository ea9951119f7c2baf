// All contexts share the one device, its memory and its modules: what they add is which of them is current.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "connection.h"
#include "driver/driver.h"

namespace vgpu {

namespace {

struct Context {
  uint64_t id;
  unsigned flags = 0;
};

std::atomic<bool> driver_initialised{false};
std::atomic<int> primary_users{0};
std::mutex contexts_mutex;
uint64_t contexts_made = 0;

Context primary{1};

std::unordered_set<const Context*>& made_contexts() {
  static auto* const made = new std::unordered_set<const Context*>;
  return *made;
}

thread_local std::vector<CUcontext> context_stack;

bool is_context(CUcontext context) {
  const auto* const known = reinterpret_cast<const Context*>(context);
  const std::lock_guard<std::mutex> lock(contexts_mutex);
  return known == &primary || made_contexts().count(known) != 0;
}

Context& context_at(CUcontext handle) {
  return *reinterpret_cast<Context*>(handle);
}

CUresult check_only_device(CUdevice device) {
  return device == kOnlyDevice ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult create_context(CUcontext* out, unsigned flags, CUdevice device) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult wrong = check_only_device(device); wrong != CUDA_SUCCESS) return wrong;
  if (const cudaError_t error = Connection::get().ready(); error != cudaSuccess) return answer(error);
  const std::lock_guard<std::mutex> lock(contexts_mutex);
  auto* const made = new Context{2 + contexts_made++, flags};
  made_contexts().insert(made);
  *out = reinterpret_cast<CUcontext>(made);
  context_stack.push_back(*out);
  return CUDA_SUCCESS;
}

// The context in question: the one given, or the current one.
CUresult context_or_current(CUcontext given, CUcontext* found) {
  *found = given != nullptr ? given : current_context();
  return *found != nullptr && is_context(*found) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

}  // namespace

CUcontext primary_context() {
  return reinterpret_cast<CUcontext>(&primary);
}

CUcontext current_context() {
  if (context_stack.empty() && runtime_used) context_stack.push_back(primary_context());
  return context_stack.empty() ? nullptr : context_stack.back();
}

bool is_initialised() {
  return driver_initialised || runtime_used;
}

CUresult check_ready(Needs needs) {
  if (needs == Needs::kNothing) return CUDA_SUCCESS;
  if (!is_initialised()) return CUDA_ERROR_NOT_INITIALIZED;
  return needs == Needs::kInit || current_context() != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

}  // namespace vgpu

VGPU_DRIVER(cuInit, kNothing, (unsigned flags), (flags)) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = vgpu::answer(vgpu::Connection::get().ready());
  vgpu::driver_initialised = result == CUDA_SUCCESS;
  return result == CUDA_SUCCESS ? result : CUDA_ERROR_NO_DEVICE;
}

VGPU_DRIVER(cuCtxCreate_v2, kInit, (CUcontext * out, unsigned flags, CUdevice device), (out, flags, device)) {
  return vgpu::create_context(out, flags, device);
}

VGPU_DRIVER(cuCtxCreate_v3, kInit,
            (CUcontext * out, CUexecAffinityParam*, int affinities, unsigned flags, CUdevice device),
            (out, nullptr, affinities, flags, device)) {
  return affinities != 0 ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : vgpu::create_context(out, flags, device);
}

VGPU_DRIVER(cuCtxCreate_v4, kInit,
            (CUcontext * out, CUctxCreateParams* wanted, unsigned flags, CUdevice device),
            (out, wanted, flags, device)) {
  if (wanted != nullptr && (wanted->numExecAffinityParams != 0 || wanted->cigParams != nullptr))
    return CUDA_ERROR_NOT_SUPPORTED;
  return vgpu::create_context(out, flags, device);
}

VGPU_DRIVER(cuCtxDestroy_v2, kInit, (CUcontext context), (context)) {
  if (context == nullptr || context == vgpu::primary_context()) return CUDA_ERROR_INVALID_CONTEXT;
  if (!vgpu::is_context(context)) return CUDA_ERROR_INVALID_CONTEXT;
  const CUresult result = vgpu::answer(cudaDeviceSynchronize());
  if (!vgpu::context_stack.empty() && vgpu::context_stack.back() == context) vgpu::context_stack.pop_back();
  const std::lock_guard<std::mutex> lock(vgpu::contexts_mutex);
  vgpu::made_contexts().erase(&vgpu::context_at(context));
  return result;
}

VGPU_DRIVER(cuCtxPushCurrent_v2, kInit, (CUcontext context), (context)) {
  if (context == nullptr || !vgpu::is_context(context)) return CUDA_ERROR_INVALID_CONTEXT;
  vgpu::context_stack.push_back(context);
  return CUDA_SUCCESS;
}

VGPU_DRIVER(cuCtxPopCurrent_v2, kContext, (CUcontext * out), (out)) {
  if (out != nullptr) *out = vgpu::context_stack.back();
  vgpu::context_stack.pop_back();
  return CUDA_SUCCESS;
}

VGPU_DRIVER(cuCtxSetCurrent, kInit, (CUcontext context), (context)) {
  if (context != nullptr && !vgpu::is_context(context)) return CUDA_ERROR_INVALID_CONTEXT;
  if (!vgpu::context_stack.empty()) vgpu::context_stack.pop_back();
  if (context != nullptr) vgpu::context_stack.push_back(context);
  return CUDA_SUCCESS;
}

VGPU_DRIVER(cuCtxGetCurrent, kInit, (CUcontext * out), (out)) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = vgpu::current_context();
  return CUDA_SUCCESS;
}

VGPU_DRIVER(cuCtxGetDevice, kContext, (CUdevice * device), (device)) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = vgpu::kOnlyDevice;
  return CUDA_SUCCESS;
}

VGPU_DRIVER(cuCtxGetDevice_v2, kInit, (CUdevice * device, CUcontext context), (device, context)) {
  CUcontext found;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = vgpu::kOnlyDevice;
  return vgpu::context_or_current(context, &found);
}

VGPU_DRIVER(cuCtxGetFlags, kContext, (unsigned* flags), (flags)) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = vgpu::context_at(vgpu::current_context()).flags;
  return CUDA_SUCCESS;
}

VGPU_DRIVER(cuCtxGetId, kInit, (CUcontext context, unsigned long long* id), (context, id)) {
  CUcontext found;
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = vgpu::context_or_current(context, &found);
  if (result == CUDA_SUCCESS) *id = vgpu::context_at(found).id;
  return result;
}

VGPU_DRIVER(cuCtxGetApiVersion, kInit, (CUcontext context, unsigned* version), (context, version)) {
  CUcontext found;
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = CUDA_VERSION;
  return vgpu::context_or_current(context, &found);
}

VGPU_DRIVER(cuCtxSynchronize, kContext, (), ()) {
  return vgpu::answer(cudaDeviceSynchronize());
}

VGPU_DRIVER(cuCtxSynchronize_v2, kInit, (CUcontext context), (context)) {
  CUcontext found;
  const CUresult result = vgpu::context_or_current(context, &found);
  return result != CUDA_SUCCESS ? result : vgpu::answer(cudaDeviceSynchronize());
}

VGPU_DRIVER(cuCtxGetLimit, kContext, (size_t* value, CUlimit limit), (value, limit)) {
  return vgpu::answer(cudaDeviceGetLimit(value, static_cast<cudaLimit>(limit)));
}

VGPU_DRIVER(cuCtxSetLimit, kContext, (CUlimit limit, size_t value), (limit, value)) {
  return vgpu::answer(cudaDeviceSetLimit(static_cast<cudaLimit>(limit), value));
}

VGPU_DRIVER(cuCtxGetCacheConfig, kContext, (CUfunc_cache * config), (config)) {
  cudaFuncCache found{};
  const cudaError_t error = cudaDeviceGetCacheConfig(&found);
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *config = static_cast<CUfunc_cache>(found);
  return vgpu::answer(error);
}

VGPU_DRIVER(cuCtxSetCacheConfig, kContext, (CUfunc_cache config), (config)) {
  return vgpu::answer(cudaDeviceSetCacheConfig(static_cast<cudaFuncCache>(config)));
}

VGPU_DRIVER(cuCtxGetStreamPriorityRange, kContext, (int* least, int* greatest), (least, greatest)) {
  return vgpu::answer(cudaDeviceGetStreamPriorityRange(least, greatest));
}

VGPU_DRIVER(cuCtxResetPersistingL2Cache, kContext, (), ()) {
  return CUDA_SUCCESS;
}

VGPU_DRIVER(cuDevicePrimaryCtxRetain, kInit, (CUcontext * out, CUdevice device), (out, device)) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult wrong = vgpu::check_only_device(device); wrong != CUDA_SUCCESS) return wrong;
  ++vgpu::primary_users;
  *out = vgpu::primary_context();
  return vgpu::answer(vgpu::Connection::get().ready());
}

VGPU_DRIVER(cuDevicePrimaryCtxRelease_v2, kInit, (CUdevice device), (device)) {
  if (const CUresult wrong = vgpu::check_only_device(device); wrong != CUDA_SUCCESS) return wrong;
  if (vgpu::primary_users == 0) return CUDA_ERROR_INVALID_CONTEXT;
  --vgpu::primary_users;
  return CUDA_SUCCESS;
}

VGPU_DRIVER(cuDevicePrimaryCtxReset_v2, kInit, (CUdevice device), (device)) {
  if (const CUresult wrong = vgpu::check_only_device(device); wrong != CUDA_SUCCESS) return wrong;
  return vgpu::answer(cudaDeviceReset());
}

VGPU_DRIVER(cuDevicePrimaryCtxSetFlags_v2, kInit, (CUdevice device, unsigned flags), (device, flags)) {
  if (const CUresult wrong = vgpu::check_only_device(device); wrong != CUDA_SUCCESS) return wrong;
  vgpu::primary.flags = flags;
  return CUDA_SUCCESS;
}

VGPU_DRIVER(cuDevicePrimaryCtxGetState, kInit, (CUdevice device, unsigned* flags, int* active),
            (device, flags, active)) {
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult wrong = vgpu::check_only_device(device); wrong != CUDA_SUCCESS) return wrong;
  *flags = vgpu::primary.flags;
  *active = vgpu::primary_users > 0 || vgpu::runtime_used;
  return CUDA_SUCCESS;
}
