#include "fatbin.h"

#include <fatbinary_section.h>

#include <cstdint>
#include <cstring>

namespace vgpu {

namespace {

constexpr uint32_t kContainerMagic = 0xBA55ED50;
constexpr uint16_t kPtxKind = 1;
constexpr uint64_t kCompressedFlags = 0x8000 | 0x4000 | 0x2000;
constexpr uint64_t kMostBytes = 1ull << 30;  // a length beyond this is a damaged container
constexpr size_t kShortestEntry = 64;

struct Container {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t bytes;  // of the entries, which follow the header
};

struct Entry {
  uint16_t kind, version;
  uint32_t header_bytes;
  uint64_t padded_bytes;  // of the payload, which follows the header
  uint32_t compressed_bytes, options_offset;
  uint16_t minor, major;
  uint32_t capability;
  uint32_t name_offset, name_bytes;
  uint64_t flags;
};
static_assert(sizeof(Entry) == 48);

// PTX is text that ends at its first zero byte; what is left of the payload is padding.
std::string_view text_of(const uint8_t* payload, uint64_t bytes) {
  const auto* text = reinterpret_cast<const char*>(payload);
  return {text, strnlen(text, bytes)};
}

}  // namespace

PtxChoice choose_ptx(const void* fatbin_wrapper, int device_capability) {
  PtxChoice choice;
  __fatBinC_Wrapper_t wrapper;
  std::memcpy(&wrapper, fatbin_wrapper, sizeof wrapper);
  Container container{};
  if (static_cast<uint32_t>(wrapper.magic) == FATBINC_MAGIC && wrapper.data != nullptr) {
    std::memcpy(&container, wrapper.data, sizeof container);
  }
  if (container.magic != kContainerMagic || container.header_bytes < sizeof container ||
      container.bytes > kMostBytes) {
    choice.problem =
        "this program's device code is in a form that is not known here: build it with nvcc of CUDA 13";
    return choice;
  }
  const uint8_t* at = reinterpret_cast<const uint8_t*>(wrapper.data) + container.header_bytes;
  uint64_t left = container.bytes;
  bool compressed = false;
  uint32_t best = 0, lowest_refused = 0;
  while (left >= kShortestEntry) {
    Entry entry;
    std::memcpy(&entry, at, sizeof entry);
    if (entry.header_bytes < sizeof entry || entry.header_bytes > left ||
        entry.padded_bytes > left - entry.header_bytes) {
      break;  // cut short: what was read so far still counts
    }
    const auto capability = entry.capability;
    if (entry.kind == kPtxKind) {
      if (capability > static_cast<uint32_t>(device_capability)) {
        lowest_refused = lowest_refused == 0 || capability < lowest_refused ? capability : lowest_refused;
      } else if (entry.compressed_bytes != 0 || (entry.flags & kCompressedFlags) != 0) {
        compressed = true;
      } else if (capability >= best) {
        best = capability;
        choice.text = text_of(at + entry.header_bytes, entry.padded_bytes);
      }
    }
    at += entry.header_bytes + entry.padded_bytes;
    left -= entry.header_bytes + entry.padded_bytes;
  }
  if (!choice.text.empty()) return choice;
  const std::string device = std::to_string(device_capability);
  if (compressed) {
    choice.problem = "this program's PTX is compressed: rebuild it with -no-compress";
  } else if (lowest_refused != 0) {
    choice.problem = "this program has PTX for compute_" + std::to_string(lowest_refused) +
                     " and above, which this device (compute_" + device + ") cannot run: rebuild it with " +
                     "-gencode arch=compute_" + device + ",code=compute_" + device;
  } else {
    choice.problem =
        "this program carries no PTX, only machine code of a real GPU: rebuild it with "
        "-gencode arch=compute_" +
        device + ",code=compute_" + device + " -no-compress";
  }
  return choice;
}

}  // namespace vgpu
