#include "exec/child_work.h"

#include <cstring>

namespace vgpu {

namespace {

constexpr uint64_t kSlabBytes = 64u << 10;
constexpr uint64_t kBufferAlign = 64;

}  // namespace

ChildWork::~ChildWork() {
  for (const uint64_t slab : slabs_) memory_.release(slab, AllocKind::kInternal, "the end of its launch");
}

uint64_t ChildWork::parameter_buffer(uint64_t bytes) {
  const uint64_t room = (bytes + kBufferAlign) / kBufferAlign * kBufferAlign;
  if (bytes > kLongest) return 0;
  if (room > end_ - free_) {
    Allocation* slab = memory_.allocate(kSlabBytes, AllocKind::kInternal, "parameters of launches");
    if (slab == nullptr) return 0;
    slab->from_program = false;
    slabs_.push_back(slab->base);
    free_ = slab->base;
    end_ = slab->end();
  }
  const uint64_t address = free_;
  free_ += room;
  return address;
}

uint64_t ChildWork::text_address(const char* text) {
  const auto [known, is_new] = texts_.try_emplace(text, 0);
  if (is_new) {
    const size_t bytes = std::strlen(text) + 1;
    known->second = parameter_buffer(bytes);
    if (known->second != 0) std::memcpy(DeviceMemory::host(known->second), text, bytes);
  }
  return known->second;
}

}  // namespace vgpu
