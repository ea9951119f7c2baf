// Kernels of the driver API: attributes, occupancy and launches. A CUfunction and a CUkernel are the same
// handle here, and the runtime API takes it, too.
#include <algorithm>
#include <vector>

#include "connection.h"
#include "driver/driver.h"
#include "modules.h"

namespace {

using vgpu::answer;

CUresult function_attribute(int* value, CUfunction_attribute attribute, const void* function) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaFuncAttributes found;
  if (const cudaError_t error = cudaFuncGetAttributes(&found, function); error != cudaSuccess)
    return answer(error);
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = found.maxThreadsPerBlock;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = static_cast<int>(found.sharedSizeBytes);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      *value = static_cast<int>(found.constSizeBytes);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      *value = static_cast<int>(found.localSizeBytes);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = found.numRegs;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      *value = found.ptxVersion;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = found.binaryVersion;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
      *value = found.cacheModeCA;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = found.maxDynamicSharedSizeBytes;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *value = found.preferredShmemCarveout;
      return CUDA_SUCCESS;
    default:
      if (attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
      *value = 0;  // clusters
      return CUDA_SUCCESS;
  }
}

CUresult set_function_attribute(const void* function, CUfunction_attribute attribute, int value) {
  return answer(cudaFuncSetAttribute(function, static_cast<cudaFuncAttribute>(attribute), value));
}

// Arguments packed into one buffer, as pointers to each: `extra` names the buffer by pairs.
CUresult unpack_arguments(const void* function, void** extra, std::vector<void*>* arguments) {
  char* buffer = nullptr;
  size_t bytes = 0;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
      buffer = static_cast<char*>(extra[1]);
    else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
      bytes = *static_cast<size_t*>(extra[1]);
    else
      return CUDA_ERROR_INVALID_VALUE;
  }
  constexpr size_t kMostParameters = 32764;  // bytes, of any kernel
  if (bytes > kMostParameters) return CUDA_ERROR_INVALID_VALUE;
  vgpu::Function* found = nullptr;
  if (const cudaError_t error = vgpu::Registry::get().find(function, &found); error != cudaSuccess)
    return answer(error);
  for (const vgpu::wire::ParamSlot& slot : found->parameters) {
    if (buffer == nullptr || uint64_t{slot.offset} + slot.bytes > bytes) return CUDA_ERROR_INVALID_VALUE;
    arguments->push_back(buffer + slot.offset);
  }
  return CUDA_SUCCESS;
}

CUresult launch_function(const cudaLaunchConfig_t& config, const void* function, void** arguments,
                         void** extra) {
  if (arguments != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<void*> unpacked;
  if (extra != nullptr) {
    if (const CUresult wrong = unpack_arguments(function, extra, &unpacked); wrong != CUDA_SUCCESS)
      return wrong;
    arguments = unpacked.data();
  }
  return answer(cudaLaunchKernelExC(&config, function, arguments));
}

// The block size with most threads resident on an SM, and the grid that fills the device.
CUresult best_block(int* grid, int* block, const void* function, CUoccupancyB2DSize shared_of, size_t shared,
                    int limit) {
  if (grid == nullptr || block == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaFuncAttributes found;
  if (const cudaError_t error = cudaFuncGetAttributes(&found, function); error != cudaSuccess)
    return answer(error);
  const vgpu::wire::DeviceInfo& device = vgpu::Connection::get().device();
  const int most = std::min(
      {limit > 0 ? limit : found.maxThreadsPerBlock, found.maxThreadsPerBlock, device.max_threads_per_block});
  int best = 0;
  *grid = *block = 0;
  for (int size = (most + device.warp_size - 1) / device.warp_size * device.warp_size; size > 0;
       size -= device.warp_size) {
    const int threads = std::min(size, most);
    int blocks = 0;
    const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, function, threads, shared_of != nullptr ? shared_of(threads) : shared);
    if (error != cudaSuccess) return answer(error);
    if (blocks * threads <= best) continue;
    best = blocks * threads;
    *block = threads;
    *grid = blocks * device.sms;
  }
  return CUDA_SUCCESS;
}

}  // namespace

VGPU_DRIVER(cuFuncGetAttribute, kContext, (int* value, CUfunction_attribute attribute, CUfunction function),
            (value, attribute, function)) {
  return function_attribute(value, attribute, function);
}

VGPU_DRIVER(cuKernelGetAttribute, kInit,
            (int* value, CUfunction_attribute attribute, CUkernel kernel, CUdevice),
            (value, attribute, kernel, 0)) {
  return function_attribute(value, attribute, kernel);
}

VGPU_DRIVER(cuFuncSetAttribute, kContext, (CUfunction function, CUfunction_attribute attribute, int value),
            (function, attribute, value)) {
  return set_function_attribute(function, attribute, value);
}

VGPU_DRIVER(cuKernelSetAttribute, kInit,
            (CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice),
            (attribute, value, kernel, 0)) {
  return set_function_attribute(kernel, attribute, value);
}

VGPU_DRIVER(cuFuncSetCacheConfig, kContext, (CUfunction function, CUfunc_cache config), (function, config)) {
  return answer(cudaFuncSetCacheConfig(function, static_cast<cudaFuncCache>(config)));
}

VGPU_DRIVER(cuFuncSetSharedMemConfig, kContext, (CUfunction function, CUsharedconfig),
            (function, CUsharedconfig{})) {
  return answer(cudaFuncSetSharedMemConfig(function, cudaSharedMemConfig{}));
}

VGPU_DRIVER(cuFuncGetName, kInit, (const char** name, CUfunction function), (name, function)) {
  return answer(cudaFuncGetName(name, function));
}

VGPU_DRIVER(cuKernelGetName, kInit, (const char** name, CUkernel kernel), (name, kernel)) {
  return answer(cudaFuncGetName(name, kernel));
}

VGPU_DRIVER(cuFuncGetModule, kContext, (CUmodule * module, CUfunction function), (module, function)) {
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  vgpu::Function* found = nullptr;
  const cudaError_t error = vgpu::Registry::get().find(function, &found);
  if (error == cudaSuccess) *module = reinterpret_cast<CUmodule>(found->module);
  return answer(error);
}

VGPU_DRIVER(cuFuncGetParamInfo, kContext, (CUfunction function, size_t index, size_t* offset, size_t* bytes),
            (function, index, offset, bytes)) {
  return answer(cudaFuncGetParamInfo(function, index, offset, bytes));
}

VGPU_DRIVER(cuKernelGetParamInfo, kInit, (CUkernel kernel, size_t index, size_t* offset, size_t* bytes),
            (kernel, index, offset, bytes)) {
  return answer(cudaFuncGetParamInfo(kernel, index, offset, bytes));
}

VGPU_DRIVER(cuFuncIsLoaded, kInit, (CUfunctionLoadingState * state, CUfunction), (state, nullptr)) {
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return CUDA_SUCCESS;
}

VGPU_DRIVER(cuFuncLoad, kContext, (CUfunction), (nullptr)) {
  return CUDA_SUCCESS;
}

VGPU_DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor, kContext,
            (int* blocks, CUfunction function, int threads, size_t shared),
            (blocks, function, threads, shared)) {
  return answer(cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared));
}

VGPU_DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, kContext,
            (int* blocks, CUfunction function, int threads, size_t shared, unsigned flags),
            (blocks, function, threads, shared, flags)) {
  return answer(
      cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, flags));
}

VGPU_DRIVER(cuOccupancyAvailableDynamicSMemPerBlock, kContext,
            (size_t* bytes, CUfunction function, int blocks, int threads),
            (bytes, function, blocks, threads)) {
  return answer(cudaOccupancyAvailableDynamicSMemPerBlock(bytes, function, blocks, threads));
}

VGPU_DRIVER(cuOccupancyMaxPotentialBlockSize, kContext,
            (int* grid, int* block, CUfunction function, CUoccupancyB2DSize shared_of, size_t shared,
             int limit),
            (grid, block, function, shared_of, shared, limit)) {
  return best_block(grid, block, function, shared_of, shared, limit);
}

VGPU_DRIVER(cuOccupancyMaxPotentialBlockSizeWithFlags, kContext,
            (int* grid, int* block, CUfunction function, CUoccupancyB2DSize shared_of, size_t shared,
             int limit, unsigned),
            (grid, block, function, shared_of, shared, limit, 0)) {
  return best_block(grid, block, function, shared_of, shared, limit);
}

VGPU_DRIVER_TWINS(cuLaunchKernel, _ptsz,
                  (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void** arguments,
                   void** extra),
                  (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, arguments,
                   extra)) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(grid_x, grid_y, grid_z);
  config.blockDim = dim3(block_x, block_y, block_z);
  config.dynamicSmemBytes = shared;
  config.stream = stream_of(stream);
  return launch_function(config, function, arguments, extra);
}

VGPU_DRIVER_TWINS(cuLaunchKernelEx, _ptsz,
                  (const CUlaunchConfig* given, CUfunction function, void** arguments, void** extra),
                  (given, function, arguments, extra)) {
  static_assert(sizeof(CUlaunchAttribute) == sizeof(cudaLaunchAttribute));  // whose numbers agree
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(given->gridDimX, given->gridDimY, given->gridDimZ);
  config.blockDim = dim3(given->blockDimX, given->blockDimY, given->blockDimZ);
  config.dynamicSmemBytes = given->sharedMemBytes;
  config.stream = stream_of(given->hStream);
  config.attrs = reinterpret_cast<cudaLaunchAttribute*>(given->attrs);
  config.numAttrs = given->numAttrs;
  return launch_function(config, function, arguments, extra);
}

VGPU_DRIVER_TWINS(cuLaunchCooperativeKernel, _ptsz,
                  (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void** arguments),
                  (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, arguments)) {
  return answer(cudaLaunchCooperativeKernel(function, dim3(grid_x, grid_y, grid_z),
                                            dim3(block_x, block_y, block_z), arguments, shared,
                                            stream_of(stream)));
}
