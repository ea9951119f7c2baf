// Functions that device code calls but no module defines: printf and assert here, others beside.
#include "exec/builtins.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "checks/access_findings.h"
#include "checks/launch_findings.h"
#include "checks/report.h"
#include "cuda_error.h"
#include "exec/access.h"
#include "exec/device_runtime.h"
#include "exec/printf_format.h"
#include "exec/scheduler.h"

namespace vgpu {

uint64_t call_argument(const Warp& w, const CallSite& site, size_t i, int lane) {
  if (i >= site.arguments.size()) return 0;
  const ParamArea& a = site.arguments[i];
  const uint32_t* words = reinterpret_cast<const uint32_t*>(w.regs + a.offset);
  uint64_t v = words[lane];
  if (a.bytes > 4) v |= static_cast<uint64_t>(words[kLanes + lane]) << 32;
  return v;
}

uint32_t call_word(const Warp& w, const CallSite& site, size_t i, size_t word, int lane) {
  if (i >= site.arguments.size() || 4 * word >= site.arguments[i].bytes) return 0;
  const auto* words = reinterpret_cast<const uint32_t*>(w.regs + site.arguments[i].offset);
  return words[word * kLanes + static_cast<size_t>(lane)];
}

bool write_generic(Warp& w, int lane, uint64_t address, uint32_t bytes, const void* from) {
  const uint64_t window = address & ~(kWindowBytes - 1);
  const uint32_t low = static_cast<uint32_t>(address);
  Block& b = *w.block;
  if (window == kLocalWindow) {
    if (uint64_t{low} + bytes > b.local_size[w.id]) return false;
    write_local(w, lane, low, bytes, static_cast<const uint8_t*>(from));
    for (uint32_t i = 0; i < bytes; ++i) b.local_written[w.id][low + i] |= 1u << lane;
    return true;
  }
  DeviceMemory& memory = b.launch->env.memory;
  Allocation* a = memory.find(address);
  if (a == nullptr || address + bytes > a->end()) return false;
  std::memcpy(DeviceMemory::host(address), from, bytes);
  memory.mark_written(*a, address, bytes);
  return true;
}

void set_call_result(Warp& w, const CallSite& site, int lane, uint64_t value) {
  if (site.returns.empty()) return;
  uint32_t* words = reinterpret_cast<uint32_t*>(w.regs + site.returns[0].offset);
  words[lane] = static_cast<uint32_t>(value);
  if (site.returns[0].bytes > 4) words[kLanes + lane] = static_cast<uint32_t>(value >> 32);
}

namespace {

constexpr size_t kLongestText = 4096;
constexpr uint64_t kPrintfCost = 500;  // of the block's budget of instructions, for each line

// Bytes at a generic address, as a lane sees them; zeros where nothing may be read.
void read_generic(Warp& w, int lane, uint64_t address, uint32_t bytes, void* to) {
  std::memset(to, 0, bytes);
  const uint64_t window = address & ~(kWindowBytes - 1);
  const uint32_t low = static_cast<uint32_t>(address);
  const uint64_t end = uint64_t{low} + bytes;
  Block& b = *w.block;
  if (window == kLocalWindow) {
    if (end <= b.local_size[w.id]) read_local(w, lane, low, bytes, static_cast<uint8_t*>(to));
  } else if (window == kSharedWindow) {
    if (end <= b.shared.size()) std::memcpy(to, b.shared.data() + low, bytes);
  } else if (const Allocation* a = b.launch->env.memory.find(address); a && address + bytes <= a->end()) {
    std::memcpy(to, DeviceMemory::host(address), bytes);
    if (b.worker->touched) b.worker->touched->note(Touch::kRead, address, bytes);
  }
}

// A string for %s: anywhere that the lane may read.
std::string text_at(Warp& w, const Op& op, int lane, uint64_t address) {
  if (address == 0) return "(null)";
  const uint64_t window = address & ~(kWindowBytes - 1);
  if (window != kLocalWindow && window != kSharedWindow) {
    if (w.block->launch->env.memory.find(address) == nullptr) {
      checks::printf_text(w, op, lane, address);
      return "(unreadable)";
    }
    return read_device_string(*w.block, address, kLongestText);
  }
  std::string text;
  for (char c = 0; text.size() < kLongestText; text += c) {
    read_generic(w, lane, address + text.size(), 1, &c);
    if (c == 0) break;
  }
  return text;
}

// One printf, with its arguments packed as the compiler packs them: each aligned to its size.
std::string printed(Warp& w, const Op& op, int lane, const std::string& format, uint64_t arguments,
                    int* used) {
  uint64_t at = arguments;
  const auto take = [&](uint32_t bytes) {
    uint64_t v = 0;
    at = (at + bytes - 1) / bytes * bytes;
    read_generic(w, lane, at, bytes, &v);
    at += bytes;
    ++*used;
    return v;
  };
  return format_text(format, {take, [&](uint64_t address) { return text_at(w, op, lane, address); }});
}

void print(Warp& w, const CallSite& site, Mask lanes, const Op& op) {
  Block& b = *w.block;
  for (Mask m = lanes; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    const std::string format = read_device_string(b, call_argument(w, site, 0, lane), kLongestText);
    int used = 0;
    const std::string line = printed(w, op, lane, format, call_argument(w, site, 1, lane), &used);
    set_call_result(w, site, lane, static_cast<uint32_t>(used));
    b.instructions += kPrintfCost;
    // The buffer is finite, as on hardware; a kernel that prints without end must not fill the host's memory.
    b.printf_cut |= b.printf_text.size() + line.size() > b.launch->env.printf_limit;
    if (!b.printf_cut) b.printf_text += line;
  }
}

void fail_assertion(Warp& w, const CallSite& site, Mask lanes, const Op& op) {
  Block& b = *w.block;
  const Launch& launch = *b.launch;
  stop_launch(b, cuda::kAssert);
  const int lane = first_lane(lanes);
  const std::string what = read_device_string(b, call_argument(w, site, 0, lane), 1024);
  const std::string file = read_device_string(b, call_argument(w, site, 1, lane), 1024);
  const uint64_t line = call_argument(w, site, 2, lane);
  const std::string function = read_device_string(b, call_argument(w, site, 3, lane), 1024);
  b.printf_text += file + ":" + std::to_string(line) + ": " + function + ": block: [" +
                   std::to_string(b.index.x) + "," + std::to_string(b.index.y) + "," +
                   std::to_string(b.index.z) + "], thread: " + thread_text(launch, b.thread_of(w, lane)) +
                   " Assertion `" + what + "` failed.\n";
  checks::assertion_failed(w, op, lane, what);
}

}  // namespace

bool run_builtin(Warp& w, const CallSite& site, Mask lanes, const Op& op) {
  switch (site.builtin) {
    case kVprintf:
      print(w, site, lanes, op);
      return true;
    case kAssertFail:
      fail_assertion(w, site, lanes, op);
      return false;
    case kMalloc:
    case kAlignedMalloc:
      allocate_from_heap(w, site, lanes, op, site.builtin == kAlignedMalloc);
      return true;
    case kFree:
      free_to_heap(w, site, lanes, op);
      return true;
    case kDeviceRuntime:
      call_device_runtime(w, site, lanes, op, site.runtime_function);
      return true;
    default:
      return true;
  }
}

}  // namespace vgpu
