// Every form of a kernel launch ends in one request.
#include <cstring>
#include <limits>

#include "api.h"
#include "connection.h"
#include "modules.h"

namespace {

using vgpu::Bytes;
using vgpu::Connection;
namespace wire = vgpu::wire;

struct Extras {
  bool cooperative = false;
  uint32_t cluster[3] = {0, 0, 0};
};

cudaError_t launch(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                   uint64_t stream, const Extras& extras = {}) {
  vgpu::Function* function = nullptr;
  if (const cudaError_t error = vgpu::Registry::get().find(kernel, &function); error != cudaSuccess)
    return error;
  const auto parameter_bytes = static_cast<uint32_t>(function->info.param_bytes);
  if (shared > std::numeric_limits<uint32_t>::max()) return cudaErrorInvalidValue;
  if (arguments == nullptr && !function->parameters.empty()) return cudaErrorInvalidValue;
  Bytes parameters(parameter_bytes);
  for (size_t i = 0; i < function->parameters.size(); ++i) {
    const wire::ParamSlot& slot = function->parameters[i];
    if (slot.offset > parameter_bytes || slot.bytes > parameter_bytes - slot.offset) return cudaErrorUnknown;
    std::memcpy(parameters.data() + slot.offset, arguments[i], slot.bytes);
  }
  wire::Launch message{};
  message.function = function->info.id;
  message.stream = stream;
  const unsigned grid_size[3] = {grid.x, grid.y, grid.z}, block_size[3] = {block.x, block.y, block.z};
  for (int axis = 0; axis < 3; ++axis) {
    message.grid[axis] = grid_size[axis];
    message.block[axis] = block_size[axis];
    message.cluster[axis] = extras.cluster[axis];
  }
  message.dynamic_shared = static_cast<uint32_t>(shared);
  message.cooperative = extras.cooperative;
  message.param_bytes = parameter_bytes;
  return Connection::get().call(wire::Request::kLaunch, &message, sizeof message, parameters.data(),
                                parameters.size(), nullptr);
}

// Attributes that only ask for speed are accepted: the answer of a program does not depend on them.
bool only_a_hint(cudaLaunchAttributeID id) {
  switch (id) {
    case cudaLaunchAttributeIgnore:
    case cudaLaunchAttributeAccessPolicyWindow:
    case cudaLaunchAttributeSynchronizationPolicy:
    case cudaLaunchAttributeClusterSchedulingPolicyPreference:
    case cudaLaunchAttributeProgrammaticStreamSerialization:
    case cudaLaunchAttributePriority:
    case cudaLaunchAttributeMemSyncDomainMap:
    case cudaLaunchAttributeMemSyncDomain:
    case cudaLaunchAttributePreferredSharedMemoryCarveout:
      return true;
    default:
      return false;
  }
}

cudaError_t read_attributes(const cudaLaunchConfig_t& config, Extras* extras) {
  if (config.numAttrs > 0 && config.attrs == nullptr) return cudaErrorInvalidValue;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config.attrs[i];
    if (attribute.id == cudaLaunchAttributeCooperative) {
      extras->cooperative = attribute.val.cooperative != 0;
    } else if (attribute.id == cudaLaunchAttributeClusterDimension) {
      extras->cluster[0] = attribute.val.clusterDim.x;
      extras->cluster[1] = attribute.val.clusterDim.y;
      extras->cluster[2] = attribute.val.clusterDim.z;
    } else if (!only_a_hint(attribute.id)) {
      return cudaErrorInvalidValue;
    }
  }
  return cudaSuccess;
}

}  // namespace

VGPU_TWINS(cudaLaunchKernel, _ptsz,
           (const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream),
           (kernel, grid, block, arguments, shared, stream)) {
  return launch(kernel, grid, block, arguments, shared, on(stream));
}

VGPU_TWINS(__cudaLaunchKernel, _ptsz,
           (cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream),
           (kernel, grid, block, arguments, shared, stream)) {
  return launch(kernel, grid, block, arguments, shared, on(stream));
}

VGPU_TWINS(cudaLaunchCooperativeKernel, _ptsz,
           (const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream),
           (kernel, grid, block, arguments, shared, stream)) {
  Extras extras;
  extras.cooperative = true;
  return launch(kernel, grid, block, arguments, shared, on(stream), extras);
}

VGPU_TWINS(cudaLaunchKernelExC, _ptsz,
           (const cudaLaunchConfig_t* config, const void* kernel, void** arguments),
           (config, kernel, arguments)) {
  if (config == nullptr) return cudaErrorInvalidValue;
  Extras extras;
  if (const cudaError_t error = read_attributes(*config, &extras); error != cudaSuccess) return error;
  return launch(kernel, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes,
                on(config->stream), extras);
}

// The same attributes as a stream's default for its launches; of those that mean more than speed there are
// none.
VGPU_TWINS(cudaStreamSetAttribute, _ptsz,
           (cudaStream_t, cudaLaunchAttributeID attribute, const cudaLaunchAttributeValue* value),
           (nullptr, attribute, value)) {
  return value != nullptr && only_a_hint(attribute) ? cudaSuccess : cudaErrorInvalidValue;
}
