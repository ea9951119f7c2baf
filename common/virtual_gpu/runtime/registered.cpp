// cudaHostRegister. The engine is another process: it cannot reach memory of the program's own. So the whole
// pages of that memory are moved into pinned memory and mapped back to where they were. The program keeps its
// address, and kernels use that of the pinned memory, which cudaHostGetDevicePointer gives.
#include "registered.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "api.h"
#include "connection.h"
#include "pointers.h"

namespace {

using vgpu::Connection;
using vgpu::Registered;
using vgpu::wire::MemoryKind;
using vgpu::wire::Request;
namespace wire = vgpu::wire;

constexpr unsigned kFlags = cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterReadOnly;
constexpr uint64_t kRoomOfTheCall = 64 << 10;  // of the stack, below the caller's frame

std::mutex mutex;
std::map<uint64_t, Registered>& registrations() {  // by their first byte
  static auto* const all = new std::map<uint64_t, Registered>;
  return *all;
}

struct Pages {
  uint64_t begin, end;
  size_t bytes() const { return end - begin; }
  char* data() const { return reinterpret_cast<char*>(begin); }
};

uint64_t page_bytes() {
  static const auto bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

Pages pages_of(const void* host, size_t bytes) {
  const uint64_t first = reinterpret_cast<uint64_t>(host), page = page_bytes();
  return {first / page * page, (first + bytes + page - 1) / page * page};
}

bool is_mapped(const Pages& pages) {
  std::vector<unsigned char> resident(pages.bytes() / page_bytes());
  return mincore(pages.data(), pages.bytes(), resident.data()) == 0;
}

// Pages that two registrations share cannot be moved twice, and those under this call not at all.
bool are_free(const Pages& pages) {
  for (const auto& [first, other] : registrations()) {
    const Pages taken = pages_of(other.host, other.bytes);
    if (pages.begin < taken.end && taken.begin < pages.end) return false;
  }
  return true;
}

bool holds_this_frame(const Pages& pages) {
  const char here = 0;
  const auto address = reinterpret_cast<uint64_t>(&here);
  return address + kRoomOfTheCall >= pages.begin && address < pages.end + kRoomOfTheCall;
}

cudaError_t refuse_registering(const char* what, bool* warned) {
  return static_cast<cudaError_t>(vgpu::not_supported(what, warned));
}

cudaError_t release(uint64_t allocation) {
  return Connection::get().ask(Request::kFree, wire::Free{allocation, MemoryKind::kRegistered, 0, 0});
}

cudaError_t add(void* host, size_t bytes, unsigned flags) {
  static bool stack_warned = false, map_warned = false;
  const Pages pages = pages_of(host, bytes);
  if (!is_mapped(pages)) return cudaErrorInvalidValue;
  if (!are_free(pages)) return cudaErrorHostMemoryAlreadyRegistered;
  if (holds_this_frame(pages))
    return refuse_registering("cudaHostRegister of memory on the stack", &stack_warned);
  wire::Address answer{};
  const uint64_t page = page_bytes();
  const cudaError_t error = Connection::get().ask(
      Request::kMalloc, wire::Malloc{pages.bytes() + page, MemoryKind::kRegistered, 0, 0}, &answer);
  if (error != cudaSuccess) return error;
  auto* const pinned = reinterpret_cast<char*>((answer.address + page - 1) / page * page);
  std::memcpy(pinned, pages.data(), pages.bytes());
  // A length of 0 asks for a second mapping of the same shared pages.
  if (mremap(pinned, 0, pages.bytes(), MREMAP_MAYMOVE | MREMAP_FIXED, pages.data()) == MAP_FAILED) {
    release(answer.address);
    return refuse_registering("cudaHostRegister on a system that maps no memory twice", &map_warned);
  }
  const uint64_t first = reinterpret_cast<uint64_t>(host);
  registrations()[first] = {static_cast<char*>(host), bytes, flags,
                            reinterpret_cast<uint64_t>(pinned) + (first - pages.begin), answer.address};
  return cudaSuccess;
}

// Its bytes become ordinary memory again when nothing on the device uses them any more.
cudaError_t remove(const Registered& known) {
  if (const cudaError_t error = Connection::get().ask(Request::kDeviceSync); error != cudaSuccess)
    return error;
  const Pages pages = pages_of(known.host, known.bytes);
  void* const copy = mmap(nullptr, pages.bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return cudaErrorMemoryAllocation;
  std::memcpy(copy, pages.data(), pages.bytes());
  if (mremap(copy, pages.bytes(), pages.bytes(), MREMAP_MAYMOVE | MREMAP_FIXED, pages.data()) == MAP_FAILED) {
    munmap(copy, pages.bytes());
    return cudaErrorUnknown;
  }
  return release(known.allocation);
}

}  // namespace

bool vgpu::find_registered(const void* pointer, Registered* found) {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto address = reinterpret_cast<uint64_t>(pointer);
  auto next = registrations().upper_bound(address);
  if (next == registrations().begin()) return false;
  const Registered& known = (--next)->second;
  if (address - next->first >= known.bytes) return false;
  *found = known;
  return true;
}

VGPU_ENTRY(cudaHostRegister, (void* host, size_t bytes, unsigned flags), (host, bytes, flags)) {
  if (host == nullptr || bytes == 0 || (flags & ~kFlags) != 0) return cudaErrorInvalidValue;
  if (vgpu::classify(host) == vgpu::PointerClass::kPinned) return cudaErrorHostMemoryAlreadyRegistered;
  if (vgpu::classify(host) == vgpu::PointerClass::kDevice) return cudaErrorInvalidValue;
  if (const cudaError_t error = Connection::get().ready(); error != cudaSuccess) return error;
  const std::lock_guard<std::mutex> lock(mutex);
  return add(host, bytes, flags);
}

VGPU_ENTRY(cudaHostUnregister, (void* host), (host)) {
  if (host == nullptr) return cudaErrorInvalidValue;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto known = registrations().find(reinterpret_cast<uint64_t>(host));
  if (known == registrations().end()) return cudaErrorHostMemoryNotRegistered;
  const cudaError_t error = remove(known->second);
  if (error == cudaSuccess) registrations().erase(known);
  return error;
}
