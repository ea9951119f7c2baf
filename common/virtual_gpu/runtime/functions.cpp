// Questions about kernels: attributes and occupancy.
#include <algorithm>

#include "api.h"
#include "connection.h"
#include "modules.h"

namespace {

using vgpu::Connection;
using vgpu::Function;
namespace wire = vgpu::wire;

cudaError_t find(const void* kernel, Function** function) {
  return vgpu::Registry::get().find(kernel, function);
}

constexpr int kSharedGranularity = 128;

}  // namespace

VGPU_ENTRY(cudaFuncGetAttributes, (cudaFuncAttributes * out, const void* kernel), (out, kernel)) {
  if (out == nullptr) return cudaErrorInvalidValue;
  Function* function = nullptr;
  if (const cudaError_t error = find(kernel, &function); error != cudaSuccess) return error;
  wire::FunctionReply info{};
  const cudaError_t error =
      Connection::get().ask(wire::Request::kFuncAttributes, wire::Id{function->info.id}, &info);
  if (error != cudaSuccess) return error;
  *out = {};
  out->sharedSizeBytes = static_cast<size_t>(info.static_shared);
  out->constSizeBytes = static_cast<size_t>(info.const_bytes);
  out->localSizeBytes = static_cast<size_t>(info.local_bytes);
  out->maxThreadsPerBlock = info.max_threads;
  out->numRegs = info.registers;
  out->ptxVersion = info.ptx_version;
  out->binaryVersion = info.binary_version;
  out->maxDynamicSharedSizeBytes = info.max_dynamic_shared;
  out->preferredShmemCarveout = cudaSharedmemCarveoutDefault;
  return cudaSuccess;
}

VGPU_ENTRY(cudaFuncSetAttribute, (const void* kernel, cudaFuncAttribute attribute, int value),
           (kernel, attribute, value)) {
  Function* function = nullptr;
  if (const cudaError_t error = find(kernel, &function); error != cudaSuccess) return error;
  const cudaError_t error = Connection::get().ask(
      wire::Request::kFuncSetAttribute, wire::FuncSetAttribute{function->info.id, attribute, value});
  if (error == cudaSuccess && attribute == cudaFuncAttributeNonPortableClusterSizeAllowed)
    function->large_clusters = value != 0;
  return error;
}

VGPU_ENTRY(cudaFuncSetCacheConfig, (const void* kernel, cudaFuncCache config), (kernel, config)) {
  if (config < cudaFuncCachePreferNone || config > cudaFuncCachePreferEqual) return cudaErrorInvalidValue;
  Function* function = nullptr;
  return find(kernel, &function);
}

VGPU_ENTRY(cudaFuncSetSharedMemConfig, (const void* kernel, cudaSharedMemConfig),
           (kernel, cudaSharedMemConfig{})) {
  Function* function = nullptr;
  return find(kernel, &function);
}

VGPU_ENTRY(cudaFuncGetName, (const char** name, const void* kernel), (name, kernel)) {
  if (name == nullptr) return cudaErrorInvalidValue;
  Function* function = nullptr;
  if (const cudaError_t error = find(kernel, &function); error != cudaSuccess) return error;
  *name = function->name.c_str();
  return cudaSuccess;
}

VGPU_ENTRY(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
           (int* blocks, const void* kernel, int threads, size_t shared, unsigned flags),
           (blocks, kernel, threads, shared, flags)) {
  if (blocks == nullptr || threads <= 0) return cudaErrorInvalidValue;
  Function* function = nullptr;
  if (const cudaError_t error = find(kernel, &function); error != cudaSuccess) return error;
  if (threads > function->info.max_threads) {  // such a launch would be refused: none is resident
    *blocks = 0;
    return cudaSuccess;
  }
  wire::Count count{};
  const cudaError_t error = Connection::get().ask(
      wire::Request::kOccupancy, wire::Occupancy{function->info.id, shared, threads, flags}, &count);
  if (error == cudaSuccess) *blocks = static_cast<int>(count.value);
  return error;
}

VGPU_ENTRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor,
           (int* blocks, const void* kernel, int threads, size_t shared), (blocks, kernel, threads, shared)) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_body(blocks, kernel, threads, shared,
                                                                     cudaOccupancyDefault);
}

VGPU_ENTRY(cudaOccupancyAvailableDynamicSMemPerBlock,
           (size_t* bytes, const void* kernel, int blocks, int threads), (bytes, kernel, blocks, threads)) {
  if (bytes == nullptr || blocks <= 0) return cudaErrorInvalidValue;
  int resident = 0;
  const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_body(
      &resident, kernel, threads, 0, cudaOccupancyDefault);
  if (error != cudaSuccess) return error;
  if (resident < blocks) return cudaErrorInvalidValue;
  Function* function = nullptr;
  if (const cudaError_t found = find(kernel, &function); found != cudaSuccess) return found;
  const wire::DeviceInfo& device = Connection::get().device();
  const int share = device.shared_per_sm / blocks / kSharedGranularity * kSharedGranularity;
  const int most = std::min(share - device.reserved_shared_per_block, device.shared_per_block_optin);
  *bytes = static_cast<size_t>(std::max(0, most - function->info.static_shared));
  return cudaSuccess;
}

VGPU_ENTRY(cudaFuncGetParamInfo, (const void* kernel, size_t index, size_t* offset, size_t* bytes),
           (kernel, index, offset, bytes)) {
  if (offset == nullptr) return cudaErrorInvalidValue;
  Function* function = nullptr;
  if (const cudaError_t error = find(kernel, &function); error != cudaSuccess) return error;
  if (index >= function->parameters.size()) return cudaErrorInvalidValue;
  *offset = function->parameters[index].offset;
  if (bytes != nullptr) *bytes = function->parameters[index].bytes;
  return cudaSuccess;
}
