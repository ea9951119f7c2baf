#include <algorithm>

#include "cost/plan.h"

namespace vgpu {
namespace {

constexpr size_t kWindow = 64;  // ops that ptxas is taken to look ahead

bool mergeable(const PlannedOp& op, const ScheduleInput::Memory& m) {
  return op.kind == PlanKind::kSharedLoad && m.base != ~0u && !m.fence && (m.bytes == 4 || m.bytes == 8);
}

bool writes(const ScheduleInput& in, const PlannedOp& op, uint32_t value) {
  for (uint32_t i = 0; i < op.written; ++i)
    if (in.values[op.values + i] == value) return true;
  return false;
}

}  // namespace

// A load of 4 bytes at an address that is a multiple of 16 takes the three behind it along, in whatever order
// they stand, unless something between may have changed them. Whether addresses are aligned is what the
// traced lanes showed; ptxas has to prove it, and can for the usual index arithmetic.
void merge_shared_loads(ScheduleInput& in, const std::vector<uint32_t>& bits) {
  std::vector<bool> gone(in.ops.size(), false);
  for (size_t i = 0; i < in.ops.size(); ++i) {
    if (gone[i] || !mergeable(in.ops[i], in.memory[i])) continue;
    const ScheduleInput::Memory first = in.memory[i];
    struct Part {
      int64_t offset;
      size_t at;
    };
    std::vector<Part> parts{{first.offset, i}};
    for (size_t k = i + 1; k < std::min(in.ops.size(), i + kWindow); ++k) {
      if (in.memory[k].writes_shared || in.memory[k].fence || writes(in, in.ops[k], first.base)) break;
      if (!gone[k] && mergeable(in.ops[k], in.memory[k]) && in.memory[k].base == first.base &&
          in.memory[k].bytes == first.bytes && std::abs(in.memory[k].offset - first.offset) < 16)
        parts.push_back({in.memory[k].offset, k});
    }
    std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.offset < b.offset; });
    for (uint32_t width : {16u, 8u}) {
      const size_t wanted = width / first.bytes;
      if (wanted < 2) continue;
      bool merged = false;
      for (size_t s = 0; s + wanted <= parts.size() && !merged; ++s) {
        const uint32_t op = in.ops[parts[s].at].op;
        if (op >= bits.size() || bits[op] % width != 0) continue;
        bool joined = false, dense = true;
        for (size_t k = 0; k < wanted; ++k) {
          joined |= parts[s + k].at == i;
          dense &= parts[s + k].offset == parts[s].offset + static_cast<int64_t>(k) * first.bytes;
        }
        if (!joined || !dense) continue;
        merged = true;
        PlannedOp wide = in.ops[i];
        std::vector<uint32_t> written, read;
        for (size_t k = 0; k < wanted; ++k) {
          const PlannedOp& p = in.ops[parts[s + k].at];
          for (uint32_t v = 0; v < p.written; ++v) written.push_back(in.values[p.values + v]);
          for (uint32_t v = 0; v < p.read; ++v) read.push_back(in.values[p.values + p.written + v]);
          if (parts[s + k].at != i) gone[parts[s + k].at] = true;
        }
        wide.merged = static_cast<uint32_t>(wanted - 1);
        wide.values = static_cast<uint32_t>(in.values.size());
        wide.written = static_cast<uint32_t>(written.size());
        wide.read = static_cast<uint32_t>(read.size());
        in.values.insert(in.values.end(), written.begin(), written.end());
        in.values.insert(in.values.end(), read.begin(), read.end());
        in.memory[i].offset = parts[s].offset;
        in.memory[i].bytes = width;
        in.ops[i] = wide;
      }
      if (merged) break;
    }
  }
  size_t kept = 0;
  for (size_t i = 0; i < in.ops.size(); ++i) {
    if (gone[i]) continue;
    in.ops[kept] = in.ops[i];
    in.memory[kept++] = in.memory[i];
  }
  in.ops.resize(kept);
  in.memory.resize(kept);
}

}  // namespace vgpu
