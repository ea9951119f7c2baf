// Memory that nodes of a graph allocate: its address is reserved when the node is made.
#include "api.h"
#include "connection.h"
#include "devices.h"
#include "explicit_graph.h"

namespace {

using vgpu::Connection;
using vgpu::wire::Request;
namespace wire = vgpu::wire;

// The figure of an attribute.
uint64_t* find_figure(wire::GraphMemory& figures, cudaGraphMemAttributeType attribute) {
  uint64_t* const all[] = {&figures.used, &figures.used_high, &figures.reserved, &figures.reserved_high};
  return attribute >= cudaGraphMemAttrUsedMemCurrent && attribute <= cudaGraphMemAttrReservedMemHigh
             ? all[attribute]
             : nullptr;
}

}  // namespace

namespace vgpu {

cudaError_t make_allocation_node(const cudaMemAllocNodeParams& given, MemAllocNode* node) {
  if (given.bytesize == 0 || given.poolProps.allocType != cudaMemAllocationTypePinned ||
      given.poolProps.location.type != cudaMemLocationTypeDevice)
    return cudaErrorInvalidValue;
  if (!is_device(given.poolProps.location.id)) return cudaErrorInvalidDevice;
  wire::Address reserved{};
  const cudaError_t error = Connection::get().ask(
      Request::kGraphReserve, wire::Malloc{given.bytesize, wire::MemoryKind::kDevice, 0, 0}, &reserved);
  if (error != cudaSuccess) return error;
  node->given = given;
  node->given.dptr = reinterpret_cast<void*>(reserved.address);
  node->address = std::shared_ptr<const uint64_t>(new uint64_t(reserved.address), [](const uint64_t* one) {
    Connection::get().ask(Request::kGraphUnreserve, wire::Address{*one});
    delete one;
  });
  return cudaSuccess;
}

}  // namespace vgpu

VGPU_ENTRY(cudaDeviceGetGraphMemAttribute, (int device, cudaGraphMemAttributeType attribute, void* value),
           (device, attribute, value)) {
  if (!vgpu::is_device(device)) return cudaErrorInvalidDevice;
  wire::GraphMemory figures{};
  const uint64_t* const figure = find_figure(figures, attribute);
  if (figure == nullptr || value == nullptr) return cudaErrorInvalidValue;
  const cudaError_t error = Connection::get().ask(Request::kGraphMemory, wire::Id{0}, &figures);
  *static_cast<uint64_t*>(value) = *figure;
  return error;
}

// The high marks alone can be set, and only to 0: they then begin with what there is now.
VGPU_ENTRY(cudaDeviceSetGraphMemAttribute, (int device, cudaGraphMemAttributeType attribute, void* value),
           (device, attribute, value)) {
  if (!vgpu::is_device(device)) return cudaErrorInvalidDevice;
  const bool is_high =
      attribute == cudaGraphMemAttrUsedMemHigh || attribute == cudaGraphMemAttrReservedMemHigh;
  if (!is_high || value == nullptr || *static_cast<uint64_t*>(value) != 0) return cudaErrorInvalidValue;
  wire::GraphMemory ignored{};
  return Connection::get().ask(Request::kGraphMemory, wire::Id{1}, &ignored);
}

// Memory that no graph has is given back at once, so that there is nothing to trim.
VGPU_ENTRY(cudaDeviceGraphMemTrim, (int device), (device)) {
  return vgpu::is_device(device) ? cudaSuccess : cudaErrorInvalidDevice;
}
