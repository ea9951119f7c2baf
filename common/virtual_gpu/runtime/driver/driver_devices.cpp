// The device as the driver API shows it. Attributes have the runtime API's numbers.
#include <cstdio>
#include <cstring>

#include "connection.h"
#include "driver/driver.h"

namespace {

CUresult check_driver_device(CUdevice device) {
  if (device != vgpu::kOnlyDevice) return CUDA_ERROR_INVALID_DEVICE;
  return vgpu::answer(vgpu::Connection::get().ready());
}

}  // namespace

VGPU_DRIVER(cuDriverGetVersion, kNothing, (int* version), (version)) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

VGPU_DRIVER(cuDeviceGetCount, kInit, (int* count), (count)) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = 1;
  return CUDA_SUCCESS;
}

VGPU_DRIVER(cuDeviceGet, kInit, (CUdevice * device, int ordinal), (device, ordinal)) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (ordinal != vgpu::kOnlyDevice) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

VGPU_DRIVER(cuDeviceGetName, kInit, (char* name, int length, CUdevice device), (name, length, device)) {
  if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult wrong = check_driver_device(device); wrong != CUDA_SUCCESS) return wrong;
  std::snprintf(name, static_cast<size_t>(length), "%s", vgpu::Connection::get().device().name);
  return CUDA_SUCCESS;
}

VGPU_DRIVER(cuDeviceTotalMem_v2, kInit, (size_t* bytes, CUdevice device), (bytes, device)) {
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult wrong = check_driver_device(device); wrong != CUDA_SUCCESS) return wrong;
  *bytes = vgpu::Connection::get().device().total_memory;
  return CUDA_SUCCESS;
}

VGPU_DRIVER(cuDeviceGetAttribute, kInit, (int* value, CUdevice_attribute attribute, CUdevice device),
            (value, attribute, device)) {
  return vgpu::answer(cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(attribute), device));
}

VGPU_DRIVER(cuDeviceComputeCapability, kInit, (int* major, int* minor, CUdevice device),
            (major, minor, device)) {
  if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult wrong = check_driver_device(device); wrong != CUDA_SUCCESS) return wrong;
  *major = vgpu::Connection::get().device().cc_major;
  *minor = vgpu::Connection::get().device().cc_minor;
  return CUDA_SUCCESS;
}

VGPU_DRIVER(cuDeviceGetUuid_v2, kInit, (CUuuid * uuid, CUdevice device), (uuid, device)) {
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaDeviceProp properties;
  const cudaError_t error = cudaGetDeviceProperties(&properties, device);
  if (error == cudaSuccess) std::memcpy(uuid, &properties.uuid, sizeof *uuid);
  return vgpu::answer(error);
}

VGPU_DRIVER(cuDeviceGetPCIBusId, kInit, (char* text, int length, CUdevice device), (text, length, device)) {
  return vgpu::answer(cudaDeviceGetPCIBusId(text, length, device));
}

VGPU_DRIVER(cuDeviceGetByPCIBusId, kInit, (CUdevice * device, const char* text), (device, text)) {
  return vgpu::answer(cudaDeviceGetByPCIBusId(device, text));
}

VGPU_DRIVER(cuDeviceCanAccessPeer, kInit, (int* can, CUdevice device, CUdevice peer), (can, device, peer)) {
  return vgpu::answer(cudaDeviceCanAccessPeer(can, device, peer));
}

VGPU_DRIVER(cuDeviceGetDefaultMemPool, kInit, (CUmemoryPool * pool, CUdevice device), (pool, device)) {
  return vgpu::answer(cudaDeviceGetDefaultMemPool(pool, device));
}

VGPU_DRIVER(cuDeviceGetMemPool, kInit, (CUmemoryPool * pool, CUdevice device), (pool, device)) {
  return vgpu::answer(cudaDeviceGetMemPool(pool, device));
}

VGPU_DRIVER(cuProfilerStart, kContext, (), ()) {
  return CUDA_SUCCESS;
}

VGPU_DRIVER(cuProfilerStop, kContext, (), ()) {
  return CUDA_SUCCESS;
}
