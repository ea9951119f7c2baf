// The program's own (host) code as its author knows it: places in its object files become source lines.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checks/finding.h"
#include "protocol.h"
#include "server/addr2line.h"

namespace vgpu {

class HostCode {
 public:
  using Lookup = std::function<LinesByOffset(const std::string& object_file, const std::vector<uint64_t>&)>;
  explicit HostCode(Lookup look_up_lines = addr2line) : look_up_lines_(std::move(look_up_lines)) {}

  // The number by which requests name an object file from now on; 0 when there are too many.
  uint32_t add_module(const std::string& path);
  // Empty for a number that was never given.
  std::string path(uint32_t module) const;

  // For use inside a sentence: " at {…}", which fill_in() turns into a line when the sentence is shown.
  // Empty for a place that is not known.
  std::string mention(const wire::CodePlace& place) const;
  std::string fill_in(const std::string& sentence);

  // The line and its inlined-at chain, without frames in headers of the toolkit and the compiler. Empty when
  // there is none, or until look_up() has run: asking is what puts a place on look_up()'s list.
  std::vector<SourcePlace> lines(const wire::CodePlace& place);
  // Looks up every address that was not found, with one run of addr2line per object file. False when there
  // was nothing to look up: the answers of lines() are final.
  bool look_up();

 private:
  using Place = std::pair<uint32_t, uint64_t>;  // module, offset
  bool is_known(uint32_t module) const { return module > 0 && module <= paths_.size(); }

  Lookup look_up_lines_;
  std::vector<std::string> paths_;  // by module number, from 1
  std::map<std::string, uint32_t> modules_;
  std::map<Place, std::vector<SourcePlace>> lines_;
  std::set<Place> wanted_;
};

}  // namespace vgpu
