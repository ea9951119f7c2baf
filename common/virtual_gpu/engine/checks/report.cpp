#include "checks/report.h"

#include <algorithm>

namespace vgpu {

Dim3 thread_index(const Launch& launch, uint32_t thread) {
  const Dim3& b = launch.request.block;
  return {thread % b.x, thread / b.x % b.y, thread / (b.x * b.y)};
}

std::string thread_text(const Launch& launch, uint32_t thread) {
  return dim_text(thread_index(launch, thread));
}

std::string who(const Warp& w, int lane) {
  return "thread " + thread_text(*w.block->launch, w.block->thread_of(w, lane));
}

std::string place_text(const Launch& launch, uint32_t op) {
  const std::vector<SourcePlace> p =
      launch.module.students_place(launch.kernel.origins[op].loc, launch.kernel);
  if (p.empty()) return "PTX line " + std::to_string(launch.kernel.origins[op].ptx_line);
  const std::string& file = p.front().file;
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(p.front().line);
}

std::string shared_text(const Block& block, uint32_t address) {
  for (const SharedRegion& r : block.launch->shared_regions)
    if (address >= r.begin && address < r.end)
      return r.name + "[+" + std::to_string(address - r.begin) + " bytes]";
  return "shared memory at " + std::to_string(address);
}

std::string lanes_text(Mask lanes) {
  std::string out = std::popcount(lanes) == 1 ? "lane " : "lanes ";
  bool first = true;
  for (int i = 0; i < kLanes; ++i) {
    if (!(lanes >> i & 1)) continue;
    int j = i;
    while (j + 1 < kLanes && (lanes >> (j + 1) & 1)) ++j;
    if (!first) out += ",";
    out += std::to_string(i);
    if (j > i) out += "-" + std::to_string(j);
    first = false;
    i = j;
  }
  return out;
}

namespace {

// Occurrences on one source line are one mistake, however many instructions the line became.
uint64_t group_key(const Launch& launch, uint32_t op, Mistake mistake, uint32_t other_op) {
  auto line_key = [&](uint32_t index) -> uint64_t {
    const std::vector<SourcePlace> p =
        launch.module.students_place(launch.kernel.origins[index].loc, launch.kernel);
    return p.empty() ? index + (1ull << 32)
                     : std::hash<std::string>()(p.front().file) * 31 + static_cast<uint64_t>(p.front().line);
  };
  uint64_t key = std::hash<std::string>()(launch.kernel.info.name);
  for (uint64_t part :
       {static_cast<uint64_t>(mistake), line_key(op), other_op == kNoOther ? 0 : line_key(other_op)})
    key = (key ^ part) * 0x9e3779b97f4a7c15ull, key ^= key >> 29;
  return key;
}

// The group of an occurrence. Its key takes strings to make, and a broken kernel has occurrences by the
// thousand: those of a pair of instructions that was seen before are found by its numbers.
LocalFinding& group_of(Worker& worker, uint32_t op, Mistake mistake, uint32_t other_op) {
  constexpr uint64_t kOpBits = 24, kOps = 1ull << kOpBits;
  auto make = [&]() -> LocalFinding& {
    return worker.findings[group_key(worker.launch, op, mistake, other_op)];
  };
  if (op >= kOps || (other_op >= kOps - 1 && other_op != kNoOther)) return make();
  const uint64_t numbers =
      op | (other_op & (kOps - 1)) << kOpBits | static_cast<uint64_t>(mistake) << 2 * kOpBits;
  LocalFinding*& known = worker.known[numbers];
  if (known == nullptr) known = &make();
  return *known;
}

}  // namespace

Finding* open_finding(Warp& w, const Op& op, int lane, Mistake mistake, uint32_t other_op, uint64_t rank) {
  Block& b = *w.block;
  const uint32_t thread = lane >= 0 ? b.thread_of(w, lane) : w.id * kLanes;
  Finding* finding = open_finding(b, thread, op.index, mistake, other_op, rank);
  if (finding) finding->has_thread = lane >= 0;
  return finding;
}

Finding* open_finding(Block& b, uint32_t thread, uint32_t op, Mistake mistake, uint32_t other_op,
                      uint64_t rank) {
  if (b.is_abandoned) return nullptr;
  Launch& launch = *b.launch;
  const uint64_t order = rank << 63 | (static_cast<uint64_t>(launch.request.index) << 44) |
                         ((b.linear & 0x3ffffffffull) << 10) | thread;
  LocalFinding& local = group_of(*b.worker, op, mistake, other_op);
  ++local.count;
  const uint64_t now = seen_at(static_cast<uint64_t>(launch.request.index), b.linear, ++b.occurrences);
  local.first = std::min(local.first, now);
  if (local.order <= order) return nullptr;
  local.order = order;
  Finding& f = local.finding;
  f = Finding{};
  f.mistake = mistake;
  f.place = launch.module.students_place(launch.kernel.origins[op].loc, launch.kernel);
  if (other_op != kNoOther)
    f.other = launch.module.students_place(launch.kernel.origins[other_op].loc, launch.kernel);
  f.kernel = demangle(launch.kernel.info.name);
  f.block = b.index;
  f.has_thread = true;
  f.thread = thread_index(launch, thread);
  f.launch = launch.request.index;
  return &f;
}

void set_launch_error(Block& block, int error) {
  if (block.is_abandoned) return;
  int none = 0;
  block.launch->error.compare_exchange_strong(none, error);
}

void stop_launch(Block& block, int error) {
  if (block.is_abandoned) return;
  set_launch_error(block, error);
  block.launch->stop = true;
}

}  // namespace vgpu
