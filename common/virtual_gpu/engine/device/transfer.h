// Copies and fills of device memory: checked against the exact allocations, then done, keeping track of
// which bytes have been written.
#pragma once

#include <cstdint>

#include "checks/finding.h"
#include "device/memory.h"

namespace vgpu {

// One side of a copy: rows at an address the engine knows, or rows packed one after another in a buffer
// that is passed along (staging: the program's pageable memory).
struct CopySide {
  bool packed = false;
  uint64_t address = 0, pitch = 0;
};

struct CopyPlan {
  CopySide dst, src;
  uint64_t width = 0, height = 0;  // bytes, rows
  uint64_t bytes() const { return width * height; }
  bool is_empty() const { return width == 0 || height == 0; }
};

struct FillPlan {
  uint64_t address = 0, pitch = 0, width = 0, height = 0;  // width in elements
  uint32_t value = 0, element_bytes = 1;
  uint64_t bytes() const { return width * element_bytes * height; }
  bool is_empty() const { return width == 0 || height == 0; }
};

// 0, or the cudaError_t of a plan that does not fit the allocations, with a finding where there is something
// to tell (its message is empty otherwise). `kind` is the cudaMemcpyKind the program wrote.
int check_copy(const CopyPlan& plan, uint32_t kind, const DeviceMemory& memory, Finding* finding);
int check_fill(const FillPlan& plan, const DeviceMemory& memory, Finding* finding);

// The plan was checked when it was queued; memory may have been freed since, or that of a graph may not have
// been allocated, so it is checked again:
// 0 or cudaErrorIllegalAddress with a finding. A packed side's rows are in `packed_dst` or `packed_src`. A
// copy to the host of memory that nothing ever wrote leaves an init finding and succeeds.
int run_copy(const CopyPlan& plan, uint8_t* packed_dst, const uint8_t* packed_src, DeviceMemory& memory,
             Finding* finding);
int run_fill(const FillPlan& plan, DeviceMemory& memory, Finding* finding);

}  // namespace vgpu
