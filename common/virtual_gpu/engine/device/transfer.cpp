#include "device/transfer.h"

#include <algorithm>
#include <cstring>

#include "checks/host_findings.h"
#include "cuda_error.h"

namespace vgpu {
namespace {

// Bytes from the first row's first byte to the last row's last. False when that overflows.
bool extent(uint64_t pitch, uint64_t width, uint64_t height, uint64_t* bytes) {
  uint64_t rows = 0;
  return !__builtin_mul_overflow(pitch, height - 1, &rows) && !__builtin_add_overflow(rows, width, bytes);
}

// A call is checked when it is made and when its turn comes. Memory of a graph may not be there before.
enum class When { kQueued, kRun };

struct Access {
  const char* verb;  // "cudaMemcpy reads", "cudaMemset writes"
  uint64_t address, bytes;
};

bool fits_reservation(const Access& access, const DeviceMemory& memory) {
  const auto reserved = memory.find_reserved(access.address);
  return reserved != nullptr && access.bytes <= reserved->base + reserved->bytes - access.address;
}

// True when the range lies in one live allocation; otherwise says in `finding` what it hit.
bool check_range(const Access& access, When when, const DeviceMemory& memory, Finding* finding) {
  const Allocation* a = memory.find(access.address);
  if (a != nullptr && a->kind == AllocKind::kHeap) {
    *finding = checks::transfer_of_heap(access.verb, access.address, access.bytes, *a);
    return false;
  }
  if (a != nullptr && access.bytes <= a->end() - access.address) return true;
  if (a == nullptr && when == When::kQueued && fits_reservation(access, memory)) return true;
  *finding = checks::transfer_out_of_range(access.verb, access.address, access.bytes, memory);
  return false;
}

enum class Place { kHost, kDevice, kBoth };  // kBoth: pinned and managed memory

Place place_of(const CopySide& side) {
  if (side.packed) return Place::kHost;
  return DeviceMemory::in_pinned_arena(side.address) ? Place::kBoth : Place::kDevice;
}

// Which ends a cudaMemcpyKind allows, by its number: host to host, host to device, …, default.
struct Direction {
  const char* name;
  Place forbidden_dst, forbidden_src;  // kBoth: any place will do
};
constexpr Direction kDirections[] = {
    {"cudaMemcpyHostToHost", Place::kDevice, Place::kDevice},
    {"cudaMemcpyHostToDevice", Place::kHost, Place::kDevice},
    {"cudaMemcpyDeviceToHost", Place::kDevice, Place::kHost},
    {"cudaMemcpyDeviceToDevice", Place::kHost, Place::kHost},
    {"cudaMemcpyDefault", Place::kBoth, Place::kBoth},
};

bool breaks(Place forbidden, const CopySide& side) {
  return forbidden != Place::kBoth && place_of(side) == forbidden;
}

template <class Byte>
Byte* row(const CopySide& side, Byte* packed, uint64_t width, uint64_t index) {
  return side.packed ? packed + index * width : DeviceMemory::host(side.address + index * side.pitch);
}

// 64 bits of a bitmap from any bit on; what lies behind `limit` reads as 0.
uint64_t load_bits(const WrittenBits& bits, uint64_t from, uint64_t limit) {
  const uint64_t word = from / 64, shift = from % 64;
  uint64_t value = bits[word] >> shift;
  if (shift != 0 && word + 1 < bits.size()) value |= bits[word + 1] << (64 - shift);
  return limit - from >= 64 ? value : value & ((1ull << (limit - from)) - 1);
}

bool any_written(const Allocation& a, uint64_t address, uint64_t bytes) {
  if (a.all_written) return true;
  const uint64_t first = address - a.base, last = first + bytes;
  for (uint64_t bit = first; bit < last; bit += 64)
    if (load_bits(a.written, bit, last) != 0) return true;
  return false;
}

// What was never written stays so in the copy.
void copy_written_bits(const Allocation& from, uint64_t src, Allocation& to, uint64_t dst, uint64_t bytes) {
  const uint64_t first = src - from.base, last = first + bytes, target = dst - to.base;
  for (uint64_t bit = first; bit < last; bit += 64) {
    const uint64_t value = load_bits(from.written, bit, last), at = target + (bit - first), shift = at % 64;
    to.written[at / 64] |= value << shift;
    const uint64_t carried = shift == 0 ? 0 : value >> (64 - shift);
    if (carried != 0) to.written[at / 64 + 1] |= carried;
  }
}

void track_copy(const CopyPlan& plan, DeviceMemory& memory) {
  Allocation* to = plan.dst.packed ? nullptr : memory.find(plan.dst.address);
  if (to == nullptr || to->all_written) return;
  const Allocation* from = plan.src.packed ? nullptr : memory.find(plan.src.address);
  for (uint64_t y = 0; y < plan.height; ++y) {
    const uint64_t dst = plan.dst.address + y * plan.dst.pitch, src = plan.src.address + y * plan.src.pitch;
    if (from == nullptr || from->all_written) {
      memory.mark_written(*to, dst, plan.width);
    } else {
      copy_written_bits(*from, src, *to, dst, plan.width);
    }
  }
}

// A partly written buffer is normal (padding, capacity); one that nothing wrote is a forgotten step.
void tell_unwritten(const CopyPlan& plan, const DeviceMemory& memory, Finding* finding) {
  if (plan.src.packed || place_of(plan.dst) == Place::kDevice) return;
  const Allocation& from = *memory.find(plan.src.address);
  for (uint64_t y = 0; y < plan.height; ++y)
    if (any_written(from, plan.src.address + y * plan.src.pitch, plan.width)) return;
  *finding = checks::unwritten_transfer(from, plan.src.address, plan.bytes());
}

int check_rows(const char* verb, uint64_t address, uint64_t pitch, uint64_t width, uint64_t height, When when,
               const DeviceMemory& memory, Finding* finding) {
  if (height > 1 && pitch < width) return cuda::kInvalidPitchValue;
  uint64_t bytes = 0;
  if (!extent(pitch, width, height, &bytes)) return cuda::kInvalidValue;
  return check_range({verb, address, bytes}, when, memory, finding) ? cuda::kSuccess : cuda::kInvalidValue;
}

int check(const CopyPlan& plan, uint32_t kind, When when, const DeviceMemory& memory, Finding* finding) {
  if (kind >= std::size(kDirections) || (plan.dst.packed && plan.src.packed)) return cuda::kInvalidValue;
  if (plan.is_empty()) return cuda::kSuccess;
  const Direction& direction = kDirections[kind];
  const bool bad_dst = breaks(direction.forbidden_dst, plan.dst);
  if (bad_dst || breaks(direction.forbidden_src, plan.src)) {
    const Place wrong = bad_dst ? direction.forbidden_dst : direction.forbidden_src;
    *finding = checks::transfer_direction(direction.name, bad_dst, wrong == Place::kHost);
    return cuda::kInvalidValue;
  }
  int error = cuda::kSuccess;
  if (!plan.src.packed)
    error = check_rows("cudaMemcpy reads", plan.src.address, plan.src.pitch, plan.width, plan.height, when,
                       memory, finding);
  if (error == cuda::kSuccess && !plan.dst.packed)
    error = check_rows("cudaMemcpy writes", plan.dst.address, plan.dst.pitch, plan.width, plan.height, when,
                       memory, finding);
  return error;
}

int check(const FillPlan& plan, When when, const DeviceMemory& memory, Finding* finding) {
  const uint32_t element = plan.element_bytes;
  uint64_t width = 0;
  if ((element != 1 && element != 2 && element != 4) || plan.address % element != 0 ||
      __builtin_mul_overflow(plan.width, element, &width))
    return cuda::kInvalidValue;
  if (plan.is_empty()) return cuda::kSuccess;
  return check_rows("cudaMemset writes", plan.address, plan.pitch, width, plan.height, when, memory, finding);
}

}  // namespace

int check_copy(const CopyPlan& plan, uint32_t kind, const DeviceMemory& memory, Finding* finding) {
  return check(plan, kind, When::kQueued, memory, finding);
}

int check_fill(const FillPlan& plan, const DeviceMemory& memory, Finding* finding) {
  return check(plan, When::kQueued, memory, finding);
}

int run_copy(const CopyPlan& plan, uint8_t* packed_dst, const uint8_t* packed_src, DeviceMemory& memory,
             Finding* finding) {
  constexpr uint32_t kAnyDirection = 4;
  if (check(plan, kAnyDirection, When::kRun, memory, finding) != cuda::kSuccess) return cuda::kIllegalAddress;
  if (plan.is_empty()) return cuda::kSuccess;
  tell_unwritten(plan, memory, finding);
  const bool dense =
      (plan.dst.packed || plan.dst.pitch == plan.width) && (plan.src.packed || plan.src.pitch == plan.width);
  const uint64_t rows = dense ? 1 : plan.height, width = dense ? plan.bytes() : plan.width;
  for (uint64_t y = 0; y < rows; ++y)
    std::memmove(row(plan.dst, packed_dst, width, y), row(plan.src, packed_src, width, y), width);
  track_copy(plan, memory);
  return cuda::kSuccess;
}

int run_fill(const FillPlan& plan, DeviceMemory& memory, Finding* finding) {
  if (check(plan, When::kRun, memory, finding) != cuda::kSuccess) return cuda::kIllegalAddress;
  if (plan.is_empty()) return cuda::kSuccess;
  Allocation& a = *memory.find(plan.address);
  const uint64_t width = plan.width * plan.element_bytes;
  for (uint64_t y = 0; y < plan.height; ++y) {
    uint8_t* start = DeviceMemory::host(plan.address + y * plan.pitch);
    if (plan.element_bytes == 1) {
      std::memset(start, static_cast<int>(plan.value & 0xff), width);
    } else {
      for (uint64_t at = 0; at < width; at += plan.element_bytes)
        std::memcpy(start + at, &plan.value, plan.element_bytes);
    }
    memory.mark_written(a, plan.address + y * plan.pitch, width);
  }
  return cuda::kSuccess;
}

}  // namespace vgpu
