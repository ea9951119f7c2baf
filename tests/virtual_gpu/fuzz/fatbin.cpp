// The container that nvcc leaves in a program, damaged: its reader stays inside what the container claims.
#include "fatbin.h"

#include <fatbinary_section.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

// Where a container says how long it is. A reader cannot know better, so an input never claims more than it
// has.
constexpr size_t kHeaderBytesAt = 6, kBytesAt = 8, kHeader = 16;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < kHeader) return 0;
  std::vector<uint8_t> container(data, data + size);
  uint16_t header;
  uint64_t bytes;
  std::memcpy(&header, &container[kHeaderBytesAt], sizeof header);
  std::memcpy(&bytes, &container[kBytesAt], sizeof bytes);
  bytes = std::min<uint64_t>(bytes, size - std::min<size_t>(header, size));
  std::memcpy(&container[kBytesAt], &bytes, sizeof bytes);
  __fatBinC_Wrapper_t wrapper{};
  wrapper.magic = FATBINC_MAGIC;
  wrapper.data = reinterpret_cast<const unsigned long long*>(container.data());
  const vgpu::PtxChoice choice = vgpu::choose_ptx(&wrapper, 90);
  size_t sum = 0;
  for (const char character : choice.text) sum += static_cast<unsigned char>(character);
  return sum == 0 && choice.text.empty() == choice.problem.empty() ? -1 : 0;
}
