#include "checks/report.h"

namespace vgpu {

Dim3 thread_index(const Launch& launch, uint32_t thread) {
  const Dim3& b = launch.request.block;
  return {thread % b.x, thread / b.x % b.y, thread / (b.x * b.y)};
}

std::string thread_text(const Launch& launch, uint32_t thread) {
  const Dim3 t = thread_index(launch, thread);
  return "(" + std::to_string(t.x) + "," + std::to_string(t.y) + "," + std::to_string(t.z) + ")";
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

Finding* open_finding(Warp& w, const Op& op, int lane, FindingKind kind, uint32_t other_op, uint32_t variant,
                      uint64_t rank) {
  Block& b = *w.block;
  Launch& launch = *b.launch;
  // Occurrences on one source line are one mistake, however many instructions the line became.
  auto line_key = [&](uint32_t index) -> uint64_t {
    const std::vector<SourcePlace> p =
        launch.module.students_place(launch.kernel.origins[index].loc, launch.kernel);
    return p.empty() ? index + (1ull << 32)
                     : std::hash<std::string>()(p.front().file) * 31 + static_cast<uint64_t>(p.front().line);
  };
  uint64_t key = std::hash<std::string>()(launch.kernel.info.name);
  for (uint64_t part : {static_cast<uint64_t>(kind), line_key(op.index),
                        other_op == kNoOther ? 0 : line_key(other_op), static_cast<uint64_t>(variant)})
    key = (key ^ part) * 0x9e3779b97f4a7c15ull, key ^= key >> 29;
  const uint32_t thread = lane >= 0 ? b.thread_of(w, lane) : w.id * kLanes;
  const uint64_t order = rank << 63 | (static_cast<uint64_t>(launch.request.index) << 44) |
                         ((b.linear & 0x3ffffffffull) << 10) | thread;
  LocalFinding& local = b.worker->findings[key];
  ++local.count;
  if (!launch.serial) {
    if (local.by_block.empty() || local.by_block.back().first != b.linear)
      local.by_block.push_back({b.linear, 0});
    ++local.by_block.back().second;
  }
  if (local.order <= order) return nullptr;
  local.order = order;
  Finding& f = local.finding;
  f = Finding{};
  f.kind = kind;
  f.place = launch.module.students_place(launch.kernel.origins[op.index].loc, launch.kernel);
  if (other_op != kNoOther)
    f.other = launch.module.students_place(launch.kernel.origins[other_op].loc, launch.kernel);
  f.kernel = demangle(launch.kernel.info.name);
  f.block = b.index;
  f.has_thread = lane >= 0;
  f.thread = thread_index(launch, thread);
  f.launch = launch.request.index;
  return &f;
}

namespace {

constexpr int kErrorBits = 16;

void lower_to(std::atomic<uint64_t>& least, uint64_t value) {
  uint64_t known = least;
  while (value < known && !least.compare_exchange_weak(known, value)) {
  }
}

}  // namespace

void set_launch_error(Block& block, int error) {
  // Among the errors of one block the first in time counts: it has the same number in front.
  Launch& launch = *block.launch;
  if (launch.serial ? launch.first_error != ~0ull : launch.first_error >> kErrorBits == block.linear) return;
  lower_to(launch.first_error, block.linear << kErrorBits | static_cast<uint64_t>(error));
}

int launch_error(const Launch& launch) {
  const uint64_t first = launch.first_error;
  return first == ~0ull ? 0 : static_cast<int>(first & ((1u << kErrorBits) - 1));
}

void stop_launch(Block& block, int error) {
  set_launch_error(block, error);
  // One CPU thread for all blocks comes to the same point every time.
  if (block.launch->serial)
    block.launch->stop = true;
  else
    lower_to(block.launch->stop_block, block.linear);
}

}  // namespace vgpu
