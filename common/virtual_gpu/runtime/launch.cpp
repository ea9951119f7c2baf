// Every form of a kernel launch ends in one request.
#include <algorithm>
#include <cstring>
#include <iterator>
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

using Value = cudaLaunchAttributeValue;

bool is_policy(const Value& value) {
  return value.clusterSchedulingPolicyPreference >= cudaClusterSchedulingPolicyDefault &&
         value.clusterSchedulingPolicyPreference <= cudaClusterSchedulingPolicyLoadBalancing;
}

bool is_window(const Value& value) {
  const cudaAccessPolicyWindow& window = value.accessPolicyWindow;
  int most = 0;
  const bool known = cudaDeviceGetAttribute(&most, cudaDevAttrMaxAccessPolicyWindowSize, 0) == cudaSuccess;
  return window.hitRatio >= 0 && window.hitRatio <= 1 && known &&
         window.num_bytes <= static_cast<size_t>(most);
}

bool is_domain_map(const Value& value) {
  return value.memSyncDomainMap.default_ < 4 && value.memSyncDomainMap.remote < 4;
}

bool anything(const Value&) {
  return true;
}

// Attributes that only ask for speed are accepted, with the values that a GPU accepts: the answer of a
// program does not depend on them.
const struct {
  cudaLaunchAttributeID id;
  bool (*accepts)(const Value&);
} kHints[] = {
    {cudaLaunchAttributeIgnore, anything},
    {cudaLaunchAttributeAccessPolicyWindow, is_window},
    {cudaLaunchAttributeClusterSchedulingPolicyPreference, is_policy},
    {cudaLaunchAttributeProgrammaticStreamSerialization, anything},
    {cudaLaunchAttributePriority, anything},
    {cudaLaunchAttributeMemSyncDomainMap, is_domain_map},
    {cudaLaunchAttributeMemSyncDomain, [](const Value& value) { return value.memSyncDomain <= 1; }},
    {cudaLaunchAttributePreferredSharedMemoryCarveout,
     [](const Value& value) { return value.sharedMemCarveout <= 100; }},
    {cudaLaunchAttributeNvlinkUtilCentricScheduling, anything},
};

bool is_hint(cudaLaunchAttributeID id, const Value& value) {
  const auto* hint =
      std::find_if(std::begin(kHints), std::end(kHints), [&](const auto& known) { return known.id == id; });
  return hint != std::end(kHints) && hint->accepts(value);
}

// Clusters that a launch would rather have: whole numbers of those that it asks for.
bool may_prefer(const uint32_t (&preferred)[3], const uint32_t (&cluster)[3], const dim3& grid) {
  const uint32_t blocks[3] = {grid.x, grid.y, grid.z};
  for (int axis = 0; axis < 3; ++axis)
    if (preferred[axis] == 0 || cluster[axis] == 0 || preferred[axis] % cluster[axis] != 0 ||
        blocks[axis] % cluster[axis] != 0)
      return false;
  return true;
}

cudaError_t read_attribute(const cudaLaunchAttribute& attribute, Extras* extras, uint32_t (&preferred)[3]) {
  switch (attribute.id) {
    case cudaLaunchAttributeCooperative:
      extras->cooperative = attribute.val.cooperative != 0;
      return cudaSuccess;
    case cudaLaunchAttributeClusterDimension:
      extras->cluster[0] = attribute.val.clusterDim.x;
      extras->cluster[1] = attribute.val.clusterDim.y;
      extras->cluster[2] = attribute.val.clusterDim.z;
      return cudaSuccess;
    case cudaLaunchAttributePreferredClusterDimension:
      preferred[0] = attribute.val.preferredClusterDim.x;
      preferred[1] = attribute.val.preferredClusterDim.y;
      preferred[2] = attribute.val.preferredClusterDim.z;
      return cudaSuccess;
    case cudaLaunchAttributeProgrammaticEvent:
      return attribute.val.programmaticEvent.event == nullptr ? cudaErrorInvalidResourceHandle
                                                              : cudaErrorNotSupported;
    case cudaLaunchAttributeLaunchCompletionEvent:
      return attribute.val.launchCompletionEvent.event == nullptr ? cudaErrorInvalidResourceHandle
                                                                  : cudaErrorNotSupported;
    case cudaLaunchAttributeDeviceUpdatableKernelNode:
      return cudaErrorNotSupported;
    default:
      return is_hint(attribute.id, attribute.val) ? cudaSuccess : cudaErrorInvalidValue;
  }
}

// 8 blocks on any GPU that has clusters, 16 where a kernel says that it does not mind which GPU.
cudaError_t largest_cluster(const void* kernel, int* blocks) {
  vgpu::Function* function = nullptr;
  if (const cudaError_t error = vgpu::Registry::get().find(kernel, &function); error != cudaSuccess)
    return error;
  *blocks = Connection::get().device().cc_major < 9 ? 1 : function->large_clusters ? 16 : 8;
  return cudaSuccess;
}

cudaError_t read_attributes(const cudaLaunchConfig_t& config, Extras* extras) {
  if (config.numAttrs > 0 && config.attrs == nullptr) return cudaErrorInvalidValue;
  uint32_t preferred[3] = {0, 0, 0};
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (const cudaError_t error = read_attribute(config.attrs[i], extras, preferred); error != cudaSuccess)
      return error;
  const bool prefers = preferred[0] != 0 || preferred[1] != 0 || preferred[2] != 0;
  if (prefers && !may_prefer(preferred, extras->cluster, config.gridDim)) return cudaErrorInvalidClusterSize;
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

// As many as the multiprocessors have room for. On a GPU the blocks of a cluster share a part of these, so
// that fewer may fit.
VGPU_ENTRY(cudaOccupancyMaxActiveClusters,
           (int* clusters, const void* kernel, const cudaLaunchConfig_t* config),
           (clusters, kernel, config)) {
  if (clusters == nullptr || config == nullptr) return cudaErrorInvalidValue;
  Extras extras;
  if (const cudaError_t error = read_attributes(*config, &extras); error != cudaSuccess) return error;
  int most = 0, blocks = 0;
  if (const cudaError_t error = largest_cluster(kernel, &most); error != cudaSuccess) return error;
  const uint64_t size =
      std::max<uint64_t>(1, uint64_t{extras.cluster[0]} * extras.cluster[1] * extras.cluster[2]);
  if (size > static_cast<uint64_t>(most)) return cudaErrorInvalidClusterSize;
  const uint64_t threads = uint64_t{config->blockDim.x} * config->blockDim.y * config->blockDim.z;
  if (threads == 0 || threads > std::numeric_limits<int>::max()) return cudaErrorInvalidValue;
  const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, kernel, static_cast<int>(threads), config->dynamicSmemBytes);
  if (error == cudaSuccess)
    *clusters = static_cast<int>(static_cast<uint64_t>(blocks * Connection::get().device().sms) / size);
  return error;
}

VGPU_ENTRY(cudaOccupancyMaxPotentialClusterSize,
           (int* size, const void* kernel, const cudaLaunchConfig_t* config), (size, kernel, config)) {
  return size == nullptr || config == nullptr ? cudaErrorInvalidValue : largest_cluster(kernel, size);
}

// The same attributes as a stream's default for its launches; of those that mean more than speed there are
// none.
VGPU_TWINS(cudaStreamSetAttribute, _ptsz,
           (cudaStream_t, cudaLaunchAttributeID attribute, const cudaLaunchAttributeValue* value),
           (nullptr, attribute, value)) {
  return value != nullptr &&
                 (attribute == cudaLaunchAttributeSynchronizationPolicy || is_hint(attribute, *value))
             ? cudaSuccess
             : cudaErrorInvalidValue;
}
