#include "checks/heap_findings.h"

#include <map>

#include "checks/report.h"

namespace vgpu::checks {

void bad_device_free(Warp& w, const Op& op, int lane, uint64_t address, const Allocation* live,
                     const Allocation* freed) {
  report(w, op, lane, Mistake::kBadDeviceFree, [&](Finding& f) {
    f.address = address;
    f.message = who(w, lane) + " frees ";
    if (live != nullptr && live->kind == AllocKind::kHeap) {
      f.allocation = live->name;
      f.message += "a pointer " + bytes_text(address - live->base) + " into " + live->name;
      f.advice = "Free the pointer that malloc or new returned.";
    } else if (live != nullptr) {
      f.allocation = live->name;
      f.message += live->name + ", which device code did not allocate";
      f.advice = "Memory from cudaMalloc goes back with cudaFree, by the host.";
    } else if (freed != nullptr) {
      f.allocation = freed->name;
      f.message += freed->name + " a second time: it was freed by " + freed->where;
      f.advice = "Free each allocation once; set the pointer to nullptr afterwards.";
    } else {
      f.message += hex(address) + ", which is not in the heap of device code";
      f.advice = "Free only what malloc or new returned.";
    }
  });
}

std::vector<Finding> heap_leaks(const DeviceHeap& heap) {
  struct Left {
    uint64_t count = 0, bytes = 0;
    const Allocation* first = nullptr;
  };
  std::map<std::pair<std::string, int>, Left> by_line;
  for (const Allocation* a : heap.live()) {
    const DeviceHeap::Site& site = heap.site(a->heap_site);
    const SourcePlace place = site.place.empty() ? SourcePlace{site.kernel} : site.place.front();
    Left& left = by_line[{place.file, place.line}];
    if (left.count++ == 0) left.first = a;
    left.bytes += a->bytes;
  }
  std::vector<Finding> notes;
  for (const auto& [line, left] : by_line) {
    const DeviceHeap::Site& site = heap.site(left.first->heap_site);
    Finding& f = notes.emplace_back();
    f.mistake = Mistake::kHeapLeft;
    f.place = site.place;
    f.kernel = site.kernel;
    f.count = left.count;
    f.message = count_of(left.count, "allocation") + " of device code (" + bytes_text(left.bytes) +
                " of its heap) " + (left.count == 1 ? "was" : "were") + " never freed";
    f.advice = "Free them in a kernel: the host cannot, and the heap has a limit (cudaLimitMallocHeapSize).";
  }
  return notes;
}

}  // namespace vgpu::checks
