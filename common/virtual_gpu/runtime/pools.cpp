// Stream-ordered allocation. There is one pool, the device's default; its settings are kept but change
// nothing.
#include <array>
#include <cstring>
#include <mutex>

#include "api.h"
#include "connection.h"
#include "devices.h"

namespace {

using vgpu::Connection;
using vgpu::wire::Request;
namespace wire = vgpu::wire;

struct Pool {
  std::mutex mutex;
  // By cudaMemPoolAttr: three switches, which are on as in CUDA, then the release threshold.
  std::array<uint64_t, cudaMemPoolAttrReleaseThreshold + 1> settings{0, 1, 1, 1, 0};
} default_pool;

cudaMemPool_t handle() {
  return reinterpret_cast<cudaMemPool_t>(&default_pool);
}

bool is_switch(cudaMemPoolAttr attribute) {
  return attribute < cudaMemPoolAttrReleaseThreshold;
}

// Gauges of used and reserved memory are not kept for the pool alone: cudaMemGetInfo has the device's.
cudaError_t check_setting(cudaMemPool_t pool, cudaMemPoolAttr attribute, const void* value) {
  if (pool != handle() || value == nullptr) return cudaErrorInvalidValue;
  if (attribute < cudaMemPoolReuseFollowEventDependencies || attribute > cudaMemPoolAttrUsedMemHigh) {
    return cudaErrorInvalidValue;
  }
  if (attribute <= cudaMemPoolAttrReleaseThreshold) return cudaSuccess;
  static bool warned = false;
  return static_cast<cudaError_t>(
      vgpu::not_supported("a memory pool's gauge of used or reserved memory", &warned));
}

cudaError_t allocate_ordered(void** out, size_t bytes, uint64_t stream) {
  if (out == nullptr) return cudaErrorInvalidValue;
  *out = nullptr;
  if (bytes == 0) return cudaSuccess;
  wire::Address answer{};
  const cudaError_t error = Connection::get().ask(
      Request::kMalloc, wire::Malloc{bytes, wire::MemoryKind::kDevice, 1, stream}, &answer);
  if (error == cudaSuccess) *out = reinterpret_cast<void*>(answer.address);
  return error;
}

cudaError_t give_pool(cudaMemPool_t* pool, int device) {
  if (pool == nullptr) return cudaErrorInvalidValue;
  if (!vgpu::is_device(device)) return cudaErrorInvalidDevice;
  *pool = handle();
  return cudaSuccess;
}

}  // namespace

VGPU_TWINS(cudaMallocAsync, _ptsz, (void** out, size_t bytes, cudaStream_t stream), (out, bytes, stream)) {
  return allocate_ordered(out, bytes, on(stream));
}

VGPU_TWINS(cudaMallocFromPoolAsync, _ptsz,
           (void** out, size_t bytes, cudaMemPool_t pool, cudaStream_t stream), (out, bytes, pool, stream)) {
  if (pool != handle()) return cudaErrorInvalidValue;
  return allocate_ordered(out, bytes, on(stream));
}

VGPU_TWINS(cudaFreeAsync, _ptsz, (void* address, cudaStream_t stream), (address, stream)) {
  if (address == nullptr) return cudaSuccess;
  return Connection::get().ask(Request::kFree, wire::Free{reinterpret_cast<uint64_t>(address),
                                                          wire::MemoryKind::kDevice, 1, on(stream)});
}

VGPU_ENTRY(cudaDeviceGetDefaultMemPool, (cudaMemPool_t * pool, int device), (pool, device)) {
  return give_pool(pool, device);
}

VGPU_ENTRY(cudaDeviceGetMemPool, (cudaMemPool_t * pool, int device), (pool, device)) {
  return give_pool(pool, device);
}

VGPU_ENTRY(cudaDeviceSetMemPool, (int device, cudaMemPool_t pool), (device, pool)) {
  if (!vgpu::is_device(device)) return cudaErrorInvalidDevice;
  return pool == handle() ? cudaSuccess : cudaErrorInvalidValue;
}

VGPU_ENTRY(cudaMemPoolSetAttribute, (cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value),
           (pool, attribute, value)) {
  if (const cudaError_t error = check_setting(pool, attribute, value); error != cudaSuccess) return error;
  uint64_t given = 0;
  std::memcpy(&given, value, is_switch(attribute) ? sizeof(int) : sizeof given);
  const std::lock_guard<std::mutex> lock(default_pool.mutex);
  default_pool.settings[attribute] = given;
  return cudaSuccess;
}

VGPU_ENTRY(cudaMemPoolGetAttribute, (cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value),
           (pool, attribute, value)) {
  if (const cudaError_t error = check_setting(pool, attribute, value); error != cudaSuccess) return error;
  const std::lock_guard<std::mutex> lock(default_pool.mutex);
  std::memcpy(value, &default_pool.settings[attribute],
              is_switch(attribute) ? sizeof(int) : sizeof(uint64_t));
  return cudaSuccess;
}

// All devices share the engine's memory: every one of them can use the pool.
VGPU_ENTRY(cudaMemPoolSetAccess, (cudaMemPool_t pool, const cudaMemAccessDesc* list, size_t count),
           (pool, list, count)) {
  if (pool != handle() || (list == nullptr && count != 0)) return cudaErrorInvalidValue;
  for (size_t i = 0; i < count; ++i) {
    if (list[i].location.type != cudaMemLocationTypeDevice) return cudaErrorInvalidValue;
    if (!vgpu::is_device(list[i].location.id)) return cudaErrorInvalidDevice;
  }
  return cudaSuccess;
}

VGPU_ENTRY(cudaMemPoolGetAccess, (cudaMemAccessFlags * flags, cudaMemPool_t pool, cudaMemLocation* location),
           (flags, pool, location)) {
  if (flags == nullptr || pool != handle() || location == nullptr) return cudaErrorInvalidValue;
  if (location->type != cudaMemLocationTypeDevice) return cudaErrorInvalidValue;
  if (!vgpu::is_device(location->id)) return cudaErrorInvalidDevice;
  *flags = cudaMemAccessFlagsProtReadWrite;
  return cudaSuccess;
}

VGPU_ENTRY(cudaMemPoolTrimTo, (cudaMemPool_t pool, size_t), (pool, 0)) {
  return pool == handle() ? cudaSuccess : cudaErrorInvalidValue;
}
