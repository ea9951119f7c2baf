#include "checks/driver_words.h"

#include <cctype>
#include <utility>

namespace vgpu::checks {
namespace {

constexpr std::pair<const char*, const char*> kWords[] = {
    {"cudaMalloc", "cuMemAlloc"},
    {"cudaMallocHost", "cuMemAllocHost"},
    {"cudaFree", "cuMemFree"},
    {"cudaFreeHost", "cuMemFreeHost"},
    {"cudaFreeAsync", "cuMemFreeAsync"},
    {"cudaMallocAsync", "cuMemAllocAsync"},
    {"cudaMemcpy", "cuMemcpy"},
    {"cudaMemset", "cuMemset"},
    {"cudaMallocManaged", "cuMemAllocManaged"},
};

bool is_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string driver_word(const std::string& word) {
  for (const auto& [runtime, driver] : kWords)
    if (word == runtime) return driver;
  return word;
}

}  // namespace

std::string in_driver_words(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_letter(text[end])) ++end;
    const bool is_name = text.compare(end, 2, " #") == 0;  // of an allocation: it says how it was made
    out += is_name ? text.substr(at, end - at) : driver_word(text.substr(at, end - at));
    if (end < text.size()) out += text[end++];
    at = end;
  }
  return out;
}

}  // namespace vgpu::checks
