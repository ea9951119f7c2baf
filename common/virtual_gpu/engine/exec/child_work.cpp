#include "exec/child_work.h"

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

}  // namespace vgpu
