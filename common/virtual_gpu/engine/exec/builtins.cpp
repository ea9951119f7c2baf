// Functions that device code calls but no module defines: printf and assert.
#include <cinttypes>
#include <cstring>

#include "checks/report.h"
#include "exec/access.h"
#include "exec/scheduler.h"

namespace vgpu {

namespace {

uint64_t argument(const Warp& w, const CallSite& site, size_t i, int lane) {
  const ParamArea& a = site.arguments[i];
  const uint32_t* words = reinterpret_cast<const uint32_t*>(w.regs + a.offset);
  uint64_t v = words[lane];
  if (a.bytes > 4) v |= static_cast<uint64_t>(words[kLanes + lane]) << 32;
  return v;
}

// Bytes at a generic address, as a lane sees them; zeros where nothing may be read.
void read_generic(Warp& w, int lane, uint64_t address, uint32_t bytes, void* to) {
  std::memset(to, 0, bytes);
  const uint64_t window = address & ~(kWindowBytes - 1);
  const uint32_t low = static_cast<uint32_t>(address);
  Block& b = *w.block;
  if (window == kLocalWindow) {
    if (low + bytes <= b.local_size[w.id]) read_local(w, lane, low, bytes, static_cast<uint8_t*>(to));
  } else if (window == kSharedWindow) {
    if (low + bytes <= b.shared.size()) std::memcpy(to, b.shared.data() + low, bytes);
  } else if (const Allocation* a = b.launch->env.memory.find(address); a && address + bytes <= a->end()) {
    std::memcpy(to, DeviceMemory::host(address), bytes);
  }
}

// One printf, with its arguments packed as the compiler packs them: each aligned to its size.
std::string format(Warp& w, int lane, const std::string& text, uint64_t arguments, int* used) {
  std::string out;
  uint64_t at = arguments;
  auto take = [&](uint32_t bytes) {
    uint64_t v = 0;
    at = (at + bytes - 1) / bytes * bytes;
    read_generic(w, lane, at, bytes, &v);
    at += bytes;
    ++*used;
    return v;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == '%') {
      out += '%';
      ++i;
      continue;
    }
    std::string spec = "%";
    bool wide = false;
    size_t k = i + 1;
    for (; k < text.size() && std::strchr("-+ #0123456789.*hlLjzt", text[k]); ++k) {
      if (text[k] == '*')
        spec += std::to_string(static_cast<int32_t>(take(4)));
      else if (text[k] == 'l' || text[k] == 'j' || text[k] == 'z' || text[k] == 't' || text[k] == 'L')
        wide = true;
      else if (text[k] != 'h')
        spec += text[k];
    }
    if (k >= text.size()) {
      out += text.substr(i);
      break;
    }
    char piece[512];
    const char c = text[k];
    piece[0] = 0;
    switch (c) {
      case 'd':
      case 'i':
        if (wide)
          std::snprintf(piece, sizeof piece, (spec + PRId64).c_str(), static_cast<int64_t>(take(8)));
        else
          std::snprintf(piece, sizeof piece, (spec + "d").c_str(), static_cast<int32_t>(take(4)));
        break;
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        if (wide)
          std::snprintf(piece, sizeof piece, (spec + "l" + c).c_str(), static_cast<unsigned long>(take(8)));
        else
          std::snprintf(piece, sizeof piece, (spec + c).c_str(), static_cast<uint32_t>(take(4)));
        break;
      case 'c':
        std::snprintf(piece, sizeof piece, (spec + c).c_str(), static_cast<int>(take(4)));
        break;
      case 'p':
        std::snprintf(piece, sizeof piece, (spec + c).c_str(), reinterpret_cast<void*>(take(8)));
        break;
      case 'f':
      case 'F':
      case 'e':
      case 'E':
      case 'g':
      case 'G':
      case 'a':
      case 'A': {
        const uint64_t bits = take(8);
        double d;
        std::memcpy(&d, &bits, 8);
        std::snprintf(piece, sizeof piece, (spec + c).c_str(), d);
        break;
      }
      case 's':
        std::snprintf(piece, sizeof piece, (spec + c).c_str(),
                      read_device_string(*w.block, take(8), 4096).c_str());
        break;
      default:
        std::snprintf(piece, sizeof piece, "%%%c", c);
        break;
    }
    out += piece;
    i = k;
  }
  return out;
}

void print(Warp& w, const CallSite& site, Mask lanes) {
  Block& b = *w.block;
  Launch& launch = *b.launch;
  for (Mask m = lanes; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    const std::string text = read_device_string(b, argument(w, site, 0, lane), 4096);
    int used = 0;
    const std::string line = format(w, lane, text, argument(w, site, 1, lane), &used);
    if (!site.returns.empty())
      reinterpret_cast<uint32_t*>(w.regs + site.returns[0].offset)[lane] = static_cast<uint32_t>(used);
    // The buffer is finite, as on hardware; a kernel that prints without end must not fill the host's memory.
    if (launch.printf_bytes.fetch_add(line.size()) + line.size() > launch.env.printf_limit) {
      if (!launch.printf_full.exchange(true))
        b.printf_text += "[device printf buffer full: later output is lost]\n";
      continue;
    }
    b.printf_text += line;
  }
}

void fail_assertion(Warp& w, const CallSite& site, Mask lanes, const Op& op) {
  Block& b = *w.block;
  Launch& launch = *b.launch;
  set_launch_error(launch, 710);  // cudaErrorAssert
  launch.stop = true;
  const int lane = first_lane(lanes);
  const std::string what = read_device_string(b, argument(w, site, 0, lane), 1024);
  const std::string file = read_device_string(b, argument(w, site, 1, lane), 1024);
  const uint64_t line = argument(w, site, 2, lane);
  const std::string function = read_device_string(b, argument(w, site, 3, lane), 1024);
  b.printf_text += file + ":" + std::to_string(line) + ": " + function + ": block: [" +
                   std::to_string(b.index.x) + "," + std::to_string(b.index.y) + "," +
                   std::to_string(b.index.z) + "], thread: " + thread_text(launch, b.thread_of(w, lane)) +
                   " Assertion `" + what + "` failed.\n";
  report(w, op, lane, FindingKind::kTrap, kNoOther, 1, [&](Finding& f) {
    f.message = "assertion failed: " + what;
    f.advice = "An assert in device code ends the launch: look at the values that make it false.";
  });
}

}  // namespace

bool run_builtin(Warp& w, const CallSite& site, Mask lanes, const Op& op) {
  switch (site.builtin) {
    case kVprintf:
      print(w, site, lanes);
      return true;
    case kAssertFail:
      fail_assertion(w, site, lanes, op);
      return false;
    default:
      return true;
  }
}

}  // namespace vgpu
