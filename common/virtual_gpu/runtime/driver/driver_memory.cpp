// Allocation and pointers of the driver API.
#include "connection.h"
#include "driver/driver.h"
#include "pointers.h"

namespace {

using vgpu::answer;
using vgpu::pointer;

void** as_pointer(CUdeviceptr* out) {
  return reinterpret_cast<void**>(out);
}

// A size of 0 is an error here; the runtime API answers it with a null pointer.
template <typename Allocate>
CUresult allocate_bytes(CUdeviceptr* out, size_t bytes, Allocate allocate) {
  return out == nullptr || bytes == 0 ? CUDA_ERROR_INVALID_VALUE : answer(allocate(as_pointer(out)));
}

// What is known of memory that the program shares with the device.
CUresult find_memory(CUdeviceptr address, vgpu::wire::PointerReply* found) {
  *found = {};
  if (vgpu::classify(pointer(address)) == vgpu::PointerClass::kPageable) return CUDA_ERROR_INVALID_VALUE;
  const cudaError_t error =
      vgpu::Connection::get().ask(vgpu::wire::Request::kPointer, vgpu::wire::Address{address}, found);
  if (error != cudaSuccess) return answer(error);
  return found->known != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult pointer_attribute(void* out, CUpointer_attribute attribute, CUdeviceptr address) {
  using vgpu::wire::MemoryKind;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  vgpu::wire::PointerReply found{};
  if (const CUresult wrong = find_memory(address, &found); wrong != CUDA_SUCCESS) return wrong;
  const bool on_device = found.kind == MemoryKind::kDevice, managed = found.kind == MemoryKind::kManaged;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *static_cast<CUcontext*>(out) = vgpu::current_context();
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(out) = on_device || managed ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *static_cast<CUdeviceptr*>(out) = address;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (on_device) return CUDA_ERROR_INVALID_VALUE;
      *static_cast<void**>(out) = pointer(address);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      *static_cast<int*>(out) = 0;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
      *static_cast<int*>(out) = 1;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      *static_cast<unsigned long long*>(out) = found.base;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<int*>(out) = managed;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(out) = vgpu::kOnlyDevice;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<CUdeviceptr*>(out) = found.base;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *static_cast<size_t*>(out) = found.bytes;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace

VGPU_DRIVER(cuMemGetInfo_v2, kContext, (size_t* free_bytes, size_t* total_bytes), (free_bytes, total_bytes)) {
  return answer(cudaMemGetInfo(free_bytes, total_bytes));
}

VGPU_DRIVER(cuMemAlloc_v2, kContext, (CUdeviceptr * out, size_t bytes), (out, bytes)) {
  return allocate_bytes(out, bytes, [&](void** made) { return cudaMalloc(made, bytes); });
}

VGPU_DRIVER(cuMemAllocManaged, kContext, (CUdeviceptr * out, size_t bytes, unsigned flags),
            (out, bytes, flags)) {
  return allocate_bytes(out, bytes, [&](void** made) { return cudaMallocManaged(made, bytes, flags); });
}

VGPU_DRIVER(cuMemAllocPitch_v2, kContext,
            (CUdeviceptr * out, size_t* pitch, size_t width, size_t height, unsigned element),
            (out, pitch, width, height, element)) {
  if (element != 4 && element != 8 && element != 16) return CUDA_ERROR_INVALID_VALUE;
  return allocate_bytes(out, width * height,
                        [&](void** made) { return cudaMallocPitch(made, pitch, width, height); });
}

VGPU_DRIVER(cuMemFree_v2, kContext, (CUdeviceptr address), (address)) {
  return answer(cudaFree(pointer(address)));
}

VGPU_DRIVER(cuMemAllocHost_v2, kContext, (void** out, size_t bytes), (out, bytes)) {
  return answer(cudaMallocHost(out, bytes));
}

VGPU_DRIVER(cuMemHostAlloc, kContext, (void** out, size_t bytes, unsigned flags), (out, bytes, flags)) {
  return answer(cudaHostAlloc(out, bytes, flags));
}

VGPU_DRIVER(cuMemFreeHost, kContext, (void* address), (address)) {
  return answer(cudaFreeHost(address));
}

VGPU_DRIVER(cuMemHostRegister_v2, kContext, (void* host, size_t bytes, unsigned flags),
            (host, bytes, flags)) {
  return answer(cudaHostRegister(host, bytes, flags));
}

VGPU_DRIVER(cuMemHostUnregister, kContext, (void* host), (host)) {
  return answer(cudaHostUnregister(host));
}

VGPU_DRIVER(cuMemHostGetDevicePointer_v2, kContext, (CUdeviceptr * out, void* host, unsigned flags),
            (out, host, flags)) {
  return answer(cudaHostGetDevicePointer(as_pointer(out), host, flags));
}

VGPU_DRIVER(cuMemHostGetFlags, kContext, (unsigned* flags, void* host), (flags, host)) {
  return answer(cudaHostGetFlags(flags, host));
}

VGPU_DRIVER(cuMemGetAddressRange_v2, kContext, (CUdeviceptr * base, size_t* bytes, CUdeviceptr address),
            (base, bytes, address)) {
  vgpu::wire::PointerReply found{};
  if (find_memory(address, &found) != CUDA_SUCCESS) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = found.base;
  if (bytes != nullptr) *bytes = found.bytes;
  return CUDA_SUCCESS;
}

VGPU_DRIVER(cuPointerGetAttribute, kInit, (void* out, CUpointer_attribute attribute, CUdeviceptr address),
            (out, attribute, address)) {
  return pointer_attribute(out, attribute, address);
}

// Of memory that is not known every answer is zero.
VGPU_DRIVER(cuPointerGetAttributes, kInit,
            (unsigned count, CUpointer_attribute* attributes, void** data, CUdeviceptr address),
            (count, attributes, data, address)) {
  if (attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    const CUresult result = pointer_attribute(data[i], attributes[i], address);
    if (result == CUDA_ERROR_NOT_SUPPORTED) return result;
    if (result == CUDA_SUCCESS || data[i] == nullptr) continue;
    const bool wide = attributes[i] == CU_POINTER_ATTRIBUTE_CONTEXT ||
                      attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_POINTER ||
                      attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER ||
                      attributes[i] == CU_POINTER_ATTRIBUTE_BUFFER_ID ||
                      attributes[i] == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR ||
                      attributes[i] == CU_POINTER_ATTRIBUTE_RANGE_SIZE;
    if (wide)
      *static_cast<uint64_t*>(data[i]) = 0;
    else
      *static_cast<int*>(data[i]) = attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL ? -2 : 0;
  }
  return CUDA_SUCCESS;
}

VGPU_DRIVER_TWINS(cuMemAllocAsync, _ptsz, (CUdeviceptr * out, size_t bytes, CUstream stream),
                  (out, bytes, stream)) {
  const cudaStream_t ordered = stream_of(stream);
  return allocate_bytes(out, bytes, [&](void** made) { return cudaMallocAsync(made, bytes, ordered); });
}

VGPU_DRIVER_TWINS(cuMemAllocFromPoolAsync, _ptsz,
                  (CUdeviceptr * out, size_t bytes, CUmemoryPool pool, CUstream stream),
                  (out, bytes, pool, stream)) {
  const cudaStream_t ordered = stream_of(stream);
  return allocate_bytes(out, bytes,
                        [&](void** made) { return cudaMallocFromPoolAsync(made, bytes, pool, ordered); });
}

VGPU_DRIVER_TWINS(cuMemFreeAsync, _ptsz, (CUdeviceptr address, CUstream stream), (address, stream)) {
  return answer(cudaFreeAsync(pointer(address), stream_of(stream)));
}

VGPU_DRIVER_TWINS(cuMemPrefetchAsync_v2, _ptsz,
                  (CUdeviceptr address, size_t bytes, CUmemLocation, unsigned flags, CUstream stream),
                  (address, bytes, CUmemLocation{}, flags, stream)) {
  return answer(cudaMemPrefetchAsync(pointer(address), bytes, cudaMemLocation{}, flags, stream_of(stream)));
}

VGPU_DRIVER(cuMemAdvise_v2, kContext, (CUdeviceptr address, size_t bytes, CUmem_advise, CUmemLocation),
            (address, bytes, CUmem_advise{}, CUmemLocation{})) {
  return answer(cudaMemAdvise(pointer(address), bytes, cudaMemoryAdvise{}, cudaMemLocation{}));
}
