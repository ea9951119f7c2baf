// The devices: one, unless VGPU_DEVICES asks for more. Queries work beside a sticky error, as they do in
// CUDA.
#include <cstdio>
#include <cstring>

#include "api.h"
#include "connection.h"
#include "devices.h"
#include "modules.h"
#include "properties.h"

namespace {

using vgpu::Connection;
using vgpu::wire::Request;
namespace wire = vgpu::wire;

constexpr unsigned kDeviceFlags = cudaDeviceScheduleMask | cudaDeviceMapHost | cudaDeviceLmemResizeToMax;
constexpr char kPciBusId[] = "0000:%02x:00.0";
constexpr int kPciBusIdBytes = 13;

unsigned device_flags = cudaDeviceMapHost;
cudaFuncCache cache_config = cudaFuncCachePreferNone;

cudaError_t check_device(int device) {
  if (!vgpu::is_device(device)) return cudaErrorInvalidDevice;
  return Connection::get().ready();
}

template <typename Value>
cudaError_t give(Value* out, Value value) {
  if (out == nullptr) return cudaErrorInvalidValue;
  *out = value;
  return cudaSuccess;
}

}  // namespace

VGPU_ENTRY(cudaGetDeviceCount, (int* count), (count)) {
  return give(count, vgpu::device_count());
}

VGPU_ENTRY(cudaGetDevice, (int* device), (device)) {
  return give(device, vgpu::current_device());
}

VGPU_ENTRY(cudaSetDevice, (int device), (device)) {
  const cudaError_t error = check_device(device);
  if (error == cudaSuccess) vgpu::choose_device(device);
  return error;
}

VGPU_ENTRY(cudaInitDevice, (int device, unsigned, unsigned), (device, 0, 0)) {
  return check_device(device);
}

VGPU_ENTRY(cudaSetValidDevices, (int* devices, int count), (devices, count)) {
  if (count < 0 || (count > 0 && devices == nullptr)) return cudaErrorInvalidValue;
  for (int i = 0; i < count; ++i) {
    if (!vgpu::is_device(devices[i])) return cudaErrorInvalidDevice;
  }
  return cudaSuccess;
}

VGPU_ENTRY(cudaChooseDevice, (int* device, const cudaDeviceProp* wanted), (device, wanted)) {
  return wanted == nullptr ? cudaErrorInvalidValue : give(device, 0);
}

VGPU_ENTRY(cudaGetDeviceProperties, (cudaDeviceProp * out, int device), (out, device)) {
  if (out == nullptr) return cudaErrorInvalidValue;
  const cudaError_t error = check_device(device);
  if (error == cudaSuccess) vgpu::fill_properties(Connection::get().device(), out);
  return error;
}

VGPU_ENTRY(cudaDeviceGetAttribute, (int* value, cudaDeviceAttr attribute, int device),
           (value, attribute, device)) {
  if (value == nullptr) return cudaErrorInvalidValue;
  const cudaError_t error = check_device(device);
  return error != cudaSuccess ? error : vgpu::device_attribute(Connection::get().device(), attribute, value);
}

VGPU_ENTRY(cudaDeviceGetPCIBusId, (char* text, int length, int device), (text, length, device)) {
  if (!vgpu::is_device(device)) return cudaErrorInvalidDevice;
  if (text == nullptr || length < kPciBusIdBytes) return cudaErrorInvalidValue;
  std::snprintf(text, kPciBusIdBytes, kPciBusId, static_cast<unsigned>(device) & 0xff);
  return cudaSuccess;
}

VGPU_ENTRY(cudaDeviceGetByPCIBusId, (int* device, const char* text), (device, text)) {
  unsigned number = 0;
  if (text == nullptr || std::sscanf(text, kPciBusId, &number) != 1) return cudaErrorInvalidValue;
  const int found = static_cast<int>(number);
  return vgpu::is_device(found) ? give(device, found) : cudaErrorInvalidValue;
}

VGPU_ENTRY(cudaDriverGetVersion, (int* version), (version)) {
  return give(version, CUDART_VERSION);
}

VGPU_ENTRY(cudaRuntimeGetVersion, (int* version), (version)) {
  return give(version, CUDART_VERSION);
}

VGPU_ENTRY(cudaGetDeviceFlags, (unsigned* flags), (flags)) {
  return give(flags, device_flags);
}

// How the host waits is a matter of its speed alone.
VGPU_ENTRY(cudaSetDeviceFlags, (unsigned flags), (flags)) {
  if ((flags & ~kDeviceFlags) != 0) return cudaErrorInvalidValue;
  device_flags = flags | cudaDeviceMapHost;
  return cudaSuccess;
}

VGPU_ENTRY(cudaDeviceGetCacheConfig, (cudaFuncCache * config), (config)) {
  return give(config, cache_config);
}

VGPU_ENTRY(cudaDeviceSetCacheConfig, (cudaFuncCache config), (config)) {
  if (config < cudaFuncCachePreferNone || config > cudaFuncCachePreferEqual) return cudaErrorInvalidValue;
  cache_config = config;
  return cudaSuccess;
}

VGPU_ENTRY(cudaDeviceGetSharedMemConfig, (cudaSharedMemConfig * config), (config)) {
  return give(config, cudaSharedMemBankSizeFourByte);
}

VGPU_ENTRY(cudaDeviceSetSharedMemConfig, (cudaSharedMemConfig), (cudaSharedMemConfig{})) {
  return cudaSuccess;
}

VGPU_ENTRY(cudaCtxResetPersistingL2Cache, (), ()) {
  return cudaSuccess;
}

VGPU_ENTRY(cudaDeviceGetLimit, (size_t* value, cudaLimit limit), (value, limit)) {
  if (value == nullptr) return cudaErrorInvalidValue;
  wire::Limit answer{};
  const cudaError_t error =
      Connection::get().ask(Request::kGetLimit, wire::Limit{static_cast<uint32_t>(limit), 0, 0}, &answer);
  if (error == cudaSuccess) *value = answer.value;
  return error;
}

VGPU_ENTRY(cudaDeviceSetLimit, (cudaLimit limit, size_t value), (limit, value)) {
  return Connection::get().ask(Request::kSetLimit, wire::Limit{static_cast<uint32_t>(limit), 0, value});
}

VGPU_ENTRY(cudaDeviceSynchronize, (), ()) {
  return Connection::get().ask(Request::kDeviceSync);
}

// On a poisoned device the reset itself succeeds and everything after it fails, as on hardware.
VGPU_ENTRY(cudaDeviceReset, (), ()) {
  Connection& connection = Connection::get();
  if (connection.poisoned()) {
    connection.retire();
    return cudaSuccess;
  }
  vgpu::Registry::get().unload_all();
  vgpu::forget_streams();
  const cudaError_t error = connection.ask(Request::kDeviceReset);
  return error != cudaSuccess ? error : vgpu::Registry::get().restore_managed();
}

// There is no profiler to start: the engine counts every launch.
VGPU_API cudaError_t cudaProfilerStart() {
  return cudaSuccess;
}
VGPU_API cudaError_t cudaProfilerStop() {
  return cudaSuccess;
}

VGPU_API cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}
