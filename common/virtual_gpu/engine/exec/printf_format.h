// printf's formats, with arguments from a thread of the device.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace vgpu {

struct PrintfArguments {
  std::function<uint64_t(uint32_t bytes)> take;          // the next one, of 4 or 8 bytes
  std::function<std::string(uint64_t address)> text_at;  // for %s
};

// The text, as C's printf makes it. A conversion that printf does not have stands there as it is, and widths
// and precisions are cut to what is sensible: one format must not keep the engine busy for minutes.
std::string format_text(const std::string& format, const PrintfArguments& arguments);

}  // namespace vgpu
