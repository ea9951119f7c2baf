// Allocation: device memory, pinned and managed host memory, and what is known of a pointer.
#include <map>
#include <mutex>

#include "api.h"
#include "connection.h"
#include "devices.h"
#include "pointers.h"
#include "registered.h"

namespace {

using vgpu::classify;
using vgpu::Connection;
using vgpu::PointerClass;
using vgpu::wire::MemoryKind;
using vgpu::wire::Request;
namespace wire = vgpu::wire;

constexpr size_t kPitchAlignment = 512;
constexpr unsigned kHostAllocFlags = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;

cudaError_t allocate(void** out, size_t bytes, MemoryKind kind) {
  if (out == nullptr) return cudaErrorInvalidValue;
  *out = nullptr;  // as in CUDA, also when the call fails
  if (bytes == 0) return cudaSuccess;
  wire::Address answer{};
  const cudaError_t error = Connection::get().ask(Request::kMalloc, wire::Malloc{bytes, kind, 0, 0}, &answer);
  if (error == cudaSuccess) *out = reinterpret_cast<void*>(answer.address);
  if (error == cudaSuccess) vgpu::note_owner(*out);
  return error;
}

// Managed memory is given back by cudaFree, pinned memory by cudaFreeHost; the engine knows which is which.
cudaError_t release(void* address, MemoryKind kind) {
  if (address == nullptr)
    return Connection::get().ready();  // cudaFree(nullptr) is how programs wake the device
  vgpu::forget_owner(address);
  return Connection::get().ask(Request::kFree, wire::Free{reinterpret_cast<uint64_t>(address), kind, 0, 0});
}

cudaError_t find_allocation(const void* pointer, wire::PointerReply* reply) {
  return Connection::get().ask(Request::kPointer, wire::Address{reinterpret_cast<uint64_t>(pointer)}, reply);
}

bool is_managed(const void* pointer) {
  wire::PointerReply reply{};
  return classify(pointer) == PointerClass::kPinned && find_allocation(pointer, &reply) == cudaSuccess &&
         reply.known != 0 && reply.kind == MemoryKind::kManaged;
}

// What cudaHostAlloc was asked for, for cudaHostGetFlags.
std::mutex flags_mutex;
std::map<const void*, unsigned>& pinned_flags() {
  static auto* const flags = new std::map<const void*, unsigned>;
  return *flags;
}

cudaError_t allocate_host(void** out, size_t bytes, unsigned flags) {
  if (out == nullptr) return cudaErrorInvalidValue;
  *out = nullptr;
  if ((flags & ~kHostAllocFlags) != 0) return cudaErrorInvalidValue;
  const cudaError_t error = allocate(out, bytes, MemoryKind::kPinned);
  if (error == cudaSuccess && *out != nullptr) {
    const std::lock_guard<std::mutex> lock(flags_mutex);
    pinned_flags()[*out] = flags;
  }
  return error;
}

size_t pitch_for(size_t width) {
  return (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
}

cudaError_t allocate_pitched(void** out, size_t* pitch, size_t width, size_t height, size_t depth) {
  if (out == nullptr || pitch == nullptr) return cudaErrorInvalidValue;
  *pitch = pitch_for(width);
  size_t bytes = 0;
  if (*pitch < width || __builtin_mul_overflow(*pitch, height, &bytes) ||
      __builtin_mul_overflow(bytes, depth, &bytes)) {
    return cudaErrorMemoryAllocation;
  }
  return allocate(out, bytes, MemoryKind::kDevice);
}

}  // namespace

VGPU_ENTRY(cudaMalloc, (void** out, size_t bytes), (out, bytes)) {
  return allocate(out, bytes, MemoryKind::kDevice);
}

VGPU_ENTRY(cudaFree, (void* address), (address)) {
  return release(address,
                 classify(address) == PointerClass::kPinned ? MemoryKind::kManaged : MemoryKind::kDevice);
}

VGPU_ENTRY(cudaMallocHost, (void** out, size_t bytes), (out, bytes)) {
  return allocate_host(out, bytes, cudaHostAllocDefault);
}

VGPU_ENTRY(cudaHostAlloc, (void** out, size_t bytes, unsigned flags), (out, bytes, flags)) {
  return allocate_host(out, bytes, flags);
}

VGPU_ENTRY(cudaFreeHost, (void* address), (address)) {
  const cudaError_t error = release(address, MemoryKind::kPinned);
  if (error == cudaSuccess) {
    const std::lock_guard<std::mutex> lock(flags_mutex);
    pinned_flags().erase(address);
  }
  return error;
}

VGPU_ENTRY(cudaHostGetFlags, (unsigned* flags, void* address), (flags, address)) {
  if (flags == nullptr) return cudaErrorInvalidValue;
  if (vgpu::Registered known; vgpu::find_registered(address, &known)) {
    *flags = known.flags;
    return cudaSuccess;
  }
  const std::lock_guard<std::mutex> lock(flags_mutex);
  const auto known = pinned_flags().find(address);
  if (known == pinned_flags().end()) return cudaErrorInvalidValue;
  *flags = known->second;
  return cudaSuccess;
}

// Pinned memory lies at the same address for the host and the device; registered memory does not.
VGPU_ENTRY(cudaHostGetDevicePointer, (void** device, void* host, unsigned flags), (device, host, flags)) {
  if (device == nullptr || flags != 0) return cudaErrorInvalidValue;
  if (vgpu::Registered known; vgpu::find_registered(host, &known)) {
    *device =
        reinterpret_cast<void*>(known.device + static_cast<size_t>(static_cast<char*>(host) - known.host));
    return cudaSuccess;
  }
  wire::PointerReply reply{};
  if (classify(host) != PointerClass::kPinned) return cudaErrorInvalidValue;
  const cudaError_t error = find_allocation(host, &reply);
  if (error != cudaSuccess) return error;
  if (reply.known == 0) return cudaErrorInvalidValue;
  *device = host;
  return cudaSuccess;
}

VGPU_ENTRY(cudaMallocManaged, (void** out, size_t bytes, unsigned flags), (out, bytes, flags)) {
  if (out == nullptr) return cudaErrorInvalidValue;
  *out = nullptr;
  if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost) return cudaErrorInvalidValue;
  return allocate(out, bytes, MemoryKind::kManaged);
}

VGPU_ENTRY(cudaMallocPitch, (void** out, size_t* pitch, size_t width, size_t height),
           (out, pitch, width, height)) {
  return allocate_pitched(out, pitch, width, height, 1);
}

VGPU_ENTRY(cudaMalloc3D, (cudaPitchedPtr * out, cudaExtent extent), (out, extent)) {
  if (out == nullptr) return cudaErrorInvalidValue;
  *out = {nullptr, 0, extent.width, extent.height};
  return allocate_pitched(&out->ptr, &out->pitch, extent.width, extent.height, extent.depth);
}

VGPU_ENTRY(cudaMemGetInfo, (size_t* free_bytes, size_t* total_bytes), (free_bytes, total_bytes)) {
  wire::MemInfo info{};
  const cudaError_t error = Connection::get().query(Request::kMemInfo, &info);
  if (error != cudaSuccess) return error;
  if (free_bytes != nullptr) *free_bytes = info.free_bytes;
  if (total_bytes != nullptr) *total_bytes = info.total_bytes;
  return cudaSuccess;
}

VGPU_ENTRY(cudaPointerGetAttributes, (cudaPointerAttributes * out, const void* pointer), (out, pointer)) {
  if (out == nullptr) return cudaErrorInvalidValue;
  constexpr int kNoDevice = -2;  // what CUDA answers for memory it does not know
  auto* const address = const_cast<void*>(pointer);
  wire::PointerReply reply{};
  if (classify(pointer) != PointerClass::kPageable) {
    if (const cudaError_t error = find_allocation(pointer, &reply); error != cudaSuccess) return error;
  }
  *out = {};
  if (vgpu::Registered known; vgpu::find_registered(pointer, &known)) {
    out->type = cudaMemoryTypeHost;
    out->hostPointer = address;
    out->devicePointer =
        reinterpret_cast<void*>(known.device + static_cast<size_t>(static_cast<char*>(address) - known.host));
    return cudaSuccess;
  }
  if (reply.known == 0) {
    out->type = cudaMemoryTypeUnregistered;
    out->device = kNoDevice;
    out->hostPointer = address;
    return cudaSuccess;
  }
  out->device = vgpu::owner_of(reinterpret_cast<const void*>(reply.base));
  out->devicePointer = address;
  out->hostPointer = reply.kind == MemoryKind::kDevice ? nullptr : address;
  out->type = reply.kind == MemoryKind::kDevice    ? cudaMemoryTypeDevice
              : reply.kind == MemoryKind::kManaged ? cudaMemoryTypeManaged
                                                   : cudaMemoryTypeHost;
  return cudaSuccess;
}

// Where managed memory should live is a matter of speed alone.
VGPU_ENTRY(cudaMemAdvise, (const void* pointer, size_t, cudaMemoryAdvise, cudaMemLocation),
           (pointer, 0, cudaMemoryAdvise{}, cudaMemLocation{})) {
  return is_managed(pointer) ? cudaSuccess : cudaErrorInvalidValue;
}

VGPU_TWINS(cudaMemPrefetchAsync, _ptsz,
           (const void* pointer, size_t, cudaMemLocation, unsigned, cudaStream_t),
           (pointer, 0, cudaMemLocation{}, 0, nullptr)) {
  return is_managed(pointer) ? cudaSuccess : cudaErrorInvalidValue;
}

// It never moves, so that it prefers no place and is nowhere in particular.
VGPU_ENTRY(cudaMemRangeGetAttribute,
           (void* data, size_t bytes, cudaMemRangeAttribute attribute, const void* pointer, size_t),
           (data, bytes, attribute, pointer, 0)) {
  if (data == nullptr || !is_managed(pointer)) return cudaErrorInvalidValue;
  const bool is_flag = attribute == cudaMemRangeAttributeReadMostly;
  const int value = is_flag ? 0 : cudaInvalidDeviceId;
  if (bytes < sizeof value || bytes % sizeof value != 0) return cudaErrorInvalidValue;
  for (size_t i = 0; i < bytes / sizeof value; ++i) static_cast<int*>(data)[i] = value;
  return cudaSuccess;
}
