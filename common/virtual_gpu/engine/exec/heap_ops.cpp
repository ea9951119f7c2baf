// malloc and free in device code.
#include <cstring>

#include "checks/heap_findings.h"
#include "checks/report.h"
#include "exec/access.h"
#include "exec/builtins.h"

namespace vgpu {

namespace {

constexpr uint64_t kMallocAlign = 16;
constexpr uint64_t kMostAlign = 1ull << 20;
constexpr uint64_t kHeapCost = 200;  // of the block's budget of instructions, for each call

bool is_power_of_two(uint64_t n) {
  return n != 0 && (n & (n - 1)) == 0;
}

}  // namespace

Allocation* heap_allocation(Warp& w, const Op& op, uint64_t bytes, uint64_t align) {
  const Launch& launch = *w.block->launch;
  DeviceHeap& heap = launch.env.memory.heap();
  if (bytes == 0 || !is_power_of_two(align) || align > kMostAlign) return nullptr;
  const int where = heap.site(launch.request.index, op.index, [&]() -> DeviceHeap::Site {
    return {launch.module.students_place(launch.kernel.origins[op.index].loc, launch.kernel),
            demangle(launch.kernel.info.name)};
  });
  return heap.allocate(bytes, align, where);
}

void allocate_from_heap(Warp& w, const CallSite& site, Mask lanes, const Op& op, bool aligned) {
  for (Mask m = lanes; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    const uint64_t align = aligned ? call_argument(w, site, 1, lane) : kMallocAlign;
    const Allocation* made = heap_allocation(w, op, call_argument(w, site, 0, lane), align);
    set_call_result(w, site, lane, made != nullptr ? made->base : 0);
    w.block->instructions += kHeapCost;
  }
}

void free_to_heap(Warp& w, const CallSite& site, Mask lanes, const Op& op) {
  Block& b = *w.block;
  const Launch& launch = *b.launch;
  DeviceMemory& memory = launch.env.memory;
  for (Mask m = lanes; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    const uint64_t address = call_argument(w, site, 0, lane);
    b.instructions += kHeapCost;
    if (address == 0) continue;
    Allocation* a = memory.find(address);
    if (a == nullptr || a->kind != AllocKind::kHeap || a->base != address) {
      if (b.options->check_memory)
        checks::bad_device_free(w, op, lane, address, a, memory.find_freed(address));
      continue;
    }
    memory.heap().release(*a, "free at " + place_text(launch, op.index));
    // What instructions touched last is looked at before the list of allocations.
    std::memset(b.worker->recent, 0, sizeof b.worker->recent);
  }
}

}  // namespace vgpu
