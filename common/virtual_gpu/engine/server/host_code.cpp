#include "server/host_code.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "server/addr2line.h"

namespace vgpu {
namespace {

constexpr size_t kMostModules = 1024, kLongestPath = 4096;
constexpr char kMentionStart[] = "{host code ";

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

// NVIDIA's inline wrappers, std::vector and their like: not where the author would look.
bool is_library_header(const std::string& file) {
  return has(file, "/include/") && (file.starts_with("/usr/") || has(file, "/include/c++/") ||
                                    has(file, "/targets/") || has(file, "/nvidia/"));
}

// From the innermost line of the source file that the chain ends in, as for device code: a helper from a
// header is named by the line that calls it.
std::vector<SourcePlace> authors_places(std::vector<SourcePlace> chain) {
  const auto is_library = [](const SourcePlace& place) { return is_library_header(place.file); };
  if (!std::all_of(chain.begin(), chain.end(), is_library)) std::erase_if(chain, is_library);
  const auto home = std::find_if(chain.begin(), chain.end(),
                                 [&](const SourcePlace& place) { return place.file == chain.back().file; });
  chain.erase(chain.begin(), home);
  return chain;
}

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

uint32_t HostCode::add_module(const std::string& path) {
  const auto known = modules_.find(path);
  if (known != modules_.end()) return known->second;
  if (path.empty() || path.size() > kLongestPath || paths_.size() >= kMostModules) return 0;
  paths_.push_back(path);
  return modules_[path] = static_cast<uint32_t>(paths_.size());
}

std::string HostCode::path(uint32_t module) const {
  return is_known(module) ? paths_[module - 1] : "";
}

std::string HostCode::mention(const wire::CodePlace& place) const {
  if (!is_known(place.module)) return "";
  char text[64];
  std::snprintf(text, sizeof text, " at %s%u+0x%llx}", kMentionStart, place.module,
                static_cast<unsigned long long>(place.offset));
  return text;
}

std::string HostCode::fill_in(const std::string& sentence) {
  std::string filled = sentence;
  for (size_t at = 0; (at = filled.find(kMentionStart, at)) != std::string::npos;) {
    char* number_end = nullptr;
    const char* number = filled.c_str() + at + sizeof kMentionStart - 1;
    const auto module = static_cast<uint32_t>(std::strtoul(number, &number_end, 10));
    const uint64_t offset = std::strtoull(number_end, nullptr, 16);
    const size_t end = filled.find('}', at);
    if (!is_known(module) || end == std::string::npos) break;
    const std::vector<SourcePlace> chain = lines({offset, module, wire::Api::kRuntime});
    const size_t plus = filled.find('+', at);
    const std::string shown = chain.empty()
                                  ? file_name(paths_[module - 1]) + filled.substr(plus, end - plus)
                                  : file_name(chain.front().file) + ":" + std::to_string(chain.front().line);
    filled.replace(at, end + 1 - at, shown);
    at += shown.size();
  }
  return filled;
}

std::vector<SourcePlace> HostCode::lines(const wire::CodePlace& place) {
  if (!is_known(place.module)) return {};
  const auto found = lines_.find({place.module, place.offset});
  if (found != lines_.end()) return found->second;
  wanted_.insert({place.module, place.offset});
  return {};
}

bool HostCode::look_up() {
  if (wanted_.empty()) return false;
  std::map<uint32_t, std::vector<uint64_t>> offsets;
  for (const auto& [module, offset] : wanted_) offsets[module].push_back(offset);
  for (const auto& [module, wanted] : offsets) {
    auto found = look_up_lines_(paths_[module - 1], wanted);
    for (const uint64_t offset : wanted) lines_[{module, offset}] = authors_places(std::move(found[offset]));
  }
  wanted_.clear();
  return true;
}

}  // namespace vgpu
