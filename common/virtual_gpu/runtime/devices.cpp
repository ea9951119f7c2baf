#include "devices.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "api.h"
#include "connection.h"
#include "copies.h"

namespace vgpu {
namespace {

constexpr int kMostDevices = 16;

thread_local int chosen = 0;

std::mutex owners_mutex;
std::map<const void*, int>& owners() {
  static auto* const known = new std::map<const void*, int>;
  return *known;
}

std::mutex peers_mutex;
std::set<std::pair<int, int>>& peers() {  // who may reach whom
  static auto* const enabled = new std::set<std::pair<int, int>>;
  return *enabled;
}

}  // namespace

int device_count() {
  static const int count = [] {
    const char* const text = std::getenv("VGPU_DEVICES");
    const int given = text != nullptr ? std::atoi(text) : 1;
    return given >= 1 && given <= kMostDevices ? given : 1;
  }();
  return count;
}

bool is_device(int device) {
  return device >= 0 && device < device_count();
}

int current_device() {
  return chosen;
}

void choose_device(int device) {
  chosen = device;
}

void note_owner(const void* allocation) {
  if (current_device() == 0) return;
  const std::lock_guard<std::mutex> lock(owners_mutex);
  owners()[allocation] = current_device();
}

void forget_owner(const void* allocation) {
  if (device_count() == 1) return;
  const std::lock_guard<std::mutex> lock(owners_mutex);
  owners().erase(allocation);
}

int owner_of(const void* allocation) {
  const std::lock_guard<std::mutex> lock(owners_mutex);
  const auto found = owners().find(allocation);
  return found == owners().end() ? 0 : found->second;
}

}  // namespace vgpu

using vgpu::current_device;
using vgpu::is_device;

VGPU_ENTRY(cudaDeviceCanAccessPeer, (int* can, int device, int peer), (can, device, peer)) {
  if (can == nullptr) return cudaErrorInvalidValue;
  if (!is_device(device) || !is_device(peer)) return cudaErrorInvalidDevice;
  *can = device != peer;
  return cudaSuccess;
}

VGPU_ENTRY(cudaDeviceEnablePeerAccess, (int peer, unsigned flags), (peer, flags)) {
  if (!is_device(peer)) return cudaErrorInvalidDevice;
  if (flags != 0) return cudaErrorInvalidValue;
  if (peer == current_device())
    return vgpu::device_count() == 1 ? cudaErrorPeerAccessUnsupported : cudaErrorInvalidDevice;
  const std::lock_guard<std::mutex> lock(vgpu::peers_mutex);
  const bool is_new = vgpu::peers().insert({current_device(), peer}).second;
  return is_new ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
}

VGPU_ENTRY(cudaDeviceDisablePeerAccess, (int peer), (peer)) {
  if (!is_device(peer)) return cudaErrorInvalidDevice;
  const std::lock_guard<std::mutex> lock(vgpu::peers_mutex);
  return vgpu::peers().erase({current_device(), peer}) != 0 ? cudaSuccess : cudaErrorPeerAccessNotEnabled;
}

VGPU_ENTRY(cudaDeviceGetP2PAttribute, (int* value, cudaDeviceP2PAttr attribute, int from, int to),
           (value, attribute, from, to)) {
  if (value == nullptr) return cudaErrorInvalidValue;
  if (!is_device(from) || !is_device(to) || from == to) return cudaErrorInvalidDevice;
  *value = attribute == cudaDevP2PAttrPerformanceRank ? 0 : 1;
  return cudaSuccess;
}

namespace {

cudaError_t copy_between(void* dst, int dst_device, const void* src, int src_device, size_t bytes,
                         uint64_t stream, vgpu::Timing timing) {
  if (!is_device(dst_device) || !is_device(src_device)) return cudaErrorInvalidDevice;
  return vgpu::copy({dst, src, bytes, 1, 0, 0, cudaMemcpyDeviceToDevice, stream, timing});
}

cudaError_t copy_3d_between(const cudaMemcpy3DPeerParms* given, uint64_t stream, vgpu::Timing timing) {
  if (given == nullptr) return cudaErrorInvalidValue;
  if (!is_device(given->dstDevice) || !is_device(given->srcDevice)) return cudaErrorInvalidDevice;
  const cudaMemcpy3DParms plain{given->srcArray, given->srcPos, given->srcPtr, given->dstArray,
                                given->dstPos,   given->dstPtr, given->extent, cudaMemcpyDeviceToDevice};
  return vgpu::copy_3d(&plain, stream, timing);
}

}  // namespace

VGPU_ENTRY(cudaMemcpyPeer, (void* dst, int dst_device, const void* src, int src_device, size_t bytes),
           (dst, dst_device, src, src_device, bytes)) {
  return copy_between(dst, dst_device, src, src_device, bytes, 0, vgpu::Timing::kSync);
}

VGPU_ENTRY(cudaMemcpyPeerAsync,
           (void* dst, int dst_device, const void* src, int src_device, size_t bytes, cudaStream_t stream),
           (dst, dst_device, src, src_device, bytes, stream)) {
  const uint64_t queue = vgpu::StreamChoice{vgpu::NullStream::kLegacy}.on(stream);
  return copy_between(dst, dst_device, src, src_device, bytes, queue, vgpu::Timing::kAsync);
}

VGPU_TWINS(cudaMemcpy3DPeer, _ptds, (const cudaMemcpy3DPeerParms* given), (given)) {
  return copy_3d_between(given, on_default(), vgpu::Timing::kSync);
}

VGPU_TWINS(cudaMemcpy3DPeerAsync, _ptsz, (const cudaMemcpy3DPeerParms* given, cudaStream_t stream),
           (given, stream)) {
  return copy_3d_between(given, on(stream), vgpu::Timing::kAsync);
}
