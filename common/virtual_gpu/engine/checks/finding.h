// A finding: one mistake, listed once, with how often it happened. Threads add findings while kernels run;
// what is reported does not depend on which CPU thread was first.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace vgpu {

enum class FindingKind : uint8_t {
#define FINDING_KIND(kind, name) kind,
#define MISTAKE(mistake, kind)
#include "checks/mistakes.def"
};
enum class Mistake : uint8_t {
#define FINDING_KIND(kind, name)
#define MISTAKE(mistake, kind) mistake,
#include "checks/mistakes.def"
};
const char* finding_kind_name(FindingKind kind);
std::string mistake_name(Mistake mistake);  // "UseAfterFree"
FindingKind kind_of(Mistake mistake);

struct SourcePlace {
  std::string file;
  int line = 0;
  std::string function;  // of an inlined helper, demangled
};

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t{x} * y * z; }
};

// When something was seen, as a number to compare: in which launch (or before it, from the host), by which
// block, and as which occurrence in the block.
uint64_t seen_at(uint64_t launch, uint64_t block = 0, uint64_t occurrence = 0);

struct Finding {
  Mistake mistake{};
  std::string message;             // one sentence: what happened
  std::string advice;              // one sentence: what to try
  std::vector<SourcePlace> place;  // innermost first, then the inlined-at chain
  std::vector<SourcePlace> other;  // the second side of a race; empty otherwise
  const char* between = "";        // whom a race is between: lanes (of a warp), warps (of a block), blocks
  std::string kernel;
  Dim3 block{0, 0, 0}, thread{0, 0, 0};
  bool has_thread = false;
  std::string allocation;  // name
  uint64_t address = 0;
  uint64_t count = 1;
  int launch = -1;     // index in the report's launches
  uint64_t first = 0;  // the lower, the earlier it was first seen: by launch, block and time in the block
  // Of a host fault: where in which object file the host code stood (the file and line are looked up later).
  std::string host_module;
  uint64_t host_offset = 0;
};

// Findings are grouped by `key`; of a group the one with the lowest `order` (launch, block, thread) is shown.
class FindingStore {
 public:
  static constexpr size_t kMaxGroups = 200;
  // Adds `finding.count` occurrences to a group.
  void put(uint64_t key, uint64_t order, Finding finding);
  void add(Finding finding);          // ungrouped, from the API side
  std::vector<Finding> list() const;  // in the order in which they were first seen: repeatable
  uint64_t dropped() const { return dropped_; }
  bool empty() const;
  void clear();

 private:
  struct Group {
    uint64_t order = ~0ull, first = ~0ull;
    uint64_t count = 0;
    Finding finding;
  };
  mutable std::mutex mutex_;
  std::map<uint64_t, Group> groups_;
  std::vector<Finding> loose_;
  uint64_t dropped_ = 0;
};

}  // namespace vgpu
