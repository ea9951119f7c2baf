#include "properties.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>

namespace vgpu {

namespace {

using wire::DeviceInfo;

constexpr int kMaxPitch = std::numeric_limits<int>::max();
constexpr int kLargestPolicyWindow = 128 << 20;
constexpr int kCopyEngines = 3;
constexpr int kMemSyncDomains = 4;

struct FromProfile {
  cudaDeviceAttr attribute;
  int (*read)(const DeviceInfo&);
};
#define VGPU_READ(expression) [](const DeviceInfo& info) -> int { return expression; }
constexpr FromProfile kFromProfile[] = {
    {cudaDevAttrMaxThreadsPerBlock, VGPU_READ(info.max_threads_per_block)},
    {cudaDevAttrMaxBlockDimX, VGPU_READ(info.max_block[0])},
    {cudaDevAttrMaxBlockDimY, VGPU_READ(info.max_block[1])},
    {cudaDevAttrMaxBlockDimZ, VGPU_READ(info.max_block[2])},
    {cudaDevAttrMaxGridDimX, VGPU_READ(info.max_grid[0])},
    {cudaDevAttrMaxGridDimY, VGPU_READ(info.max_grid[1])},
    {cudaDevAttrMaxGridDimZ, VGPU_READ(info.max_grid[2])},
    {cudaDevAttrMaxSharedMemoryPerBlock, VGPU_READ(info.shared_per_block)},
    {cudaDevAttrMaxSharedMemoryPerBlockOptin, VGPU_READ(info.shared_per_block_optin)},
    {cudaDevAttrMaxSharedMemoryPerMultiprocessor, VGPU_READ(info.shared_per_sm)},
    {cudaDevAttrReservedSharedMemoryPerBlock, VGPU_READ(info.reserved_shared_per_block)},
    {cudaDevAttrTotalConstantMemory, VGPU_READ(info.constant_bytes)},
    {cudaDevAttrWarpSize, VGPU_READ(info.warp_size)},
    {cudaDevAttrMaxRegistersPerBlock, VGPU_READ(info.regs_per_block)},
    {cudaDevAttrMaxRegistersPerMultiprocessor, VGPU_READ(info.regs_per_sm)},
    {cudaDevAttrClockRate, VGPU_READ(info.clock_khz)},
    {cudaDevAttrMemoryClockRate, VGPU_READ(info.memory_clock_khz)},
    {cudaDevAttrGlobalMemoryBusWidth, VGPU_READ(info.memory_bus_bits)},
    {cudaDevAttrMultiProcessorCount, VGPU_READ(info.sms)},
    {cudaDevAttrL2CacheSize, VGPU_READ(static_cast<int>(info.l2_bytes))},
    // As much as the CUDA programming guide sets aside.
    {cudaDevAttrMaxPersistingL2CacheSize, VGPU_READ(static_cast<int>(info.l2_bytes / 4 * 3))},
    {cudaDevAttrMaxThreadsPerMultiProcessor, VGPU_READ(info.max_threads_per_sm)},
    {cudaDevAttrMaxBlocksPerMultiprocessor, VGPU_READ(info.max_blocks_per_sm)},
    {cudaDevAttrComputeCapabilityMajor, VGPU_READ(info.cc_major)},
    {cudaDevAttrComputeCapabilityMinor, VGPU_READ(info.cc_minor)},
};
#undef VGPU_READ

struct Fixed {
  cudaDeviceAttr attribute;
  int value;
};
constexpr Fixed kFixed[] = {
    {cudaDevAttrMaxPitch, kMaxPitch},
    {cudaDevAttrMaxAccessPolicyWindowSize, kLargestPolicyWindow},
    {cudaDevAttrTextureAlignment, kTextureAlignment},
    {cudaDevAttrTexturePitchAlignment, kTexturePitchAlignment},
    {cudaDevAttrSurfaceAlignment, kTextureAlignment},
    {cudaDevAttrGpuOverlap, 1},
    {cudaDevAttrAsyncEngineCount, kCopyEngines},
    {cudaDevAttrCanMapHostMemory, 1},
    {cudaDevAttrConcurrentKernels, 1},
    {cudaDevAttrUnifiedAddressing, 1},
    {cudaDevAttrStreamPrioritiesSupported, 1},
    {cudaDevAttrGlobalL1CacheSupported, 1},
    {cudaDevAttrLocalL1CacheSupported, 1},
    {cudaDevAttrManagedMemory, 1},
    {cudaDevAttrHostRegisterSupported, 1},
    {cudaDevAttrConcurrentManagedAccess, 1},
    {cudaDevAttrComputePreemptionSupported, 1},
    {cudaDevAttrCooperativeLaunch, 1},
    {cudaDevAttrMemoryPoolsSupported, 1},
    {cudaDevAttrMemSyncDomainCount, kMemSyncDomains},
    {cudaDevAttrSingleToDoublePrecisionPerfRatio, 2},
    {cudaDevAttrNumaId, -1},
};

int attribute_or_zero(const DeviceInfo& info, cudaDeviceAttr attribute) {
  for (const FromProfile& row : kFromProfile) {
    if (row.attribute == attribute) return row.read(info);
  }
  const auto* fixed = std::find_if(std::begin(kFixed), std::end(kFixed),
                                   [&](const Fixed& row) { return row.attribute == attribute; });
  return fixed == std::end(kFixed) ? 0 : fixed->value;
}

// One id for each profile, so that programs which key on it see the same device again.
void fill_uuid(const char* name, cudaUUID_t* uuid) {
  uint64_t state = 0xcbf29ce484222325ull;
  for (const char* at = name; *at != '\0'; ++at)
    state = (state ^ static_cast<uint8_t>(*at)) * 0x100000001b3ull;
  for (char& byte : uuid->bytes) {
    state = (state ^ (state >> 29)) * 0x9e3779b97f4a7c15ull;
    byte = static_cast<char>(state >> 56);
  }
}

}  // namespace

cudaError_t device_attribute(const DeviceInfo& info, cudaDeviceAttr attribute, int* value) {
  if (attribute < cudaDevAttrMaxThreadsPerBlock || attribute >= cudaDevAttrMax) return cudaErrorInvalidValue;
  *value = attribute_or_zero(info, attribute);
  return cudaSuccess;
}

void fill_properties(const DeviceInfo& info, cudaDeviceProp* out) {
  const auto value = [&](cudaDeviceAttr attribute) { return attribute_or_zero(info, attribute); };
  *out = {};
  std::memcpy(out->name, info.name, std::min(sizeof info.name, sizeof out->name - 1));
  fill_uuid(info.name, &out->uuid);
  out->totalGlobalMem = info.total_memory;
  out->sharedMemPerBlock = static_cast<size_t>(info.shared_per_block);
  out->sharedMemPerBlockOptin = static_cast<size_t>(info.shared_per_block_optin);
  out->sharedMemPerMultiprocessor = static_cast<size_t>(info.shared_per_sm);
  out->reservedSharedMemPerBlock = static_cast<size_t>(info.reserved_shared_per_block);
  out->regsPerBlock = info.regs_per_block;
  out->regsPerMultiprocessor = info.regs_per_sm;
  out->warpSize = info.warp_size;
  out->memPitch = kMaxPitch;
  out->maxThreadsPerBlock = info.max_threads_per_block;
  std::copy(std::begin(info.max_block), std::end(info.max_block), out->maxThreadsDim);
  std::copy(std::begin(info.max_grid), std::end(info.max_grid), out->maxGridSize);
  out->totalConstMem = static_cast<size_t>(info.constant_bytes);
  out->major = info.cc_major;
  out->minor = info.cc_minor;
  out->textureAlignment = kTextureAlignment;
  out->texturePitchAlignment = kTexturePitchAlignment;
  out->surfaceAlignment = kTextureAlignment;
  out->multiProcessorCount = info.sms;
  out->canMapHostMemory = value(cudaDevAttrCanMapHostMemory);
  out->concurrentKernels = value(cudaDevAttrConcurrentKernels);
  out->asyncEngineCount = value(cudaDevAttrAsyncEngineCount);
  out->unifiedAddressing = value(cudaDevAttrUnifiedAddressing);
  out->memoryBusWidth = info.memory_bus_bits;
  out->l2CacheSize = value(cudaDevAttrL2CacheSize);
  out->persistingL2CacheMaxSize = value(cudaDevAttrMaxPersistingL2CacheSize);
  out->accessPolicyMaxWindowSize = value(cudaDevAttrMaxAccessPolicyWindowSize);
  out->maxThreadsPerMultiProcessor = info.max_threads_per_sm;
  out->maxBlocksPerMultiProcessor = info.max_blocks_per_sm;
  out->streamPrioritiesSupported = value(cudaDevAttrStreamPrioritiesSupported);
  out->globalL1CacheSupported = value(cudaDevAttrGlobalL1CacheSupported);
  out->localL1CacheSupported = value(cudaDevAttrLocalL1CacheSupported);
  out->managedMemory = value(cudaDevAttrManagedMemory);
  out->hostRegisterSupported = value(cudaDevAttrHostRegisterSupported);
  out->concurrentManagedAccess = value(cudaDevAttrConcurrentManagedAccess);
  out->computePreemptionSupported = value(cudaDevAttrComputePreemptionSupported);
  out->cooperativeLaunch = value(cudaDevAttrCooperativeLaunch);
  out->memoryPoolsSupported = value(cudaDevAttrMemoryPoolsSupported);
  out->clusterLaunch = value(cudaDevAttrClusterLaunch);
  out->deviceNumaId = value(cudaDevAttrNumaId);
}

}  // namespace vgpu
