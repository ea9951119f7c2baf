// What the CPU threads of a launch counted and found, put together the same way whoever did it.
#include <algorithm>
#include <map>

#include "exec/async_detail.h"
#include "exec/block.h"
#include "exec/bulk_ops.h"
#include "exec/flags.h"
#include "exec/mbarrier_ops.h"
#include "exec/wgmma.h"

namespace vgpu {

void Counters::add(const Counters& other) {
#define COUNTER(name) name += other.name;
#include "exec/counters.def"
  for (size_t i = 0; i < by_class.size(); ++i) by_class[i] += other.by_class[i];
  for (const auto& [shape, count] : other.wgmma_by_shape) wgmma_by_shape[shape] += count;
}

void OpCounts::add(const OpCounts& other) {
#define OP_COUNT(name) name += other.name;
#include "exec/op_counts.def"
}

const char* instr_class_name(InstrClass cls) {
  static constexpr const char* kNames[] = {
#define INSTRUCTION_CLASS(enumerator, name) name,
#include "exec/instruction_classes.def"
  };
  return kNames[static_cast<size_t>(cls)];
}

namespace {

bool stores(const Op& op) {
  return op.cls == InstrClass::kStoreGlobal || op.cls == InstrClass::kStoreShared ||
         op.cls == InstrClass::kStoreLocal;
}

void add_op(Counters& c, const Op& op, const OpCounts& n, uint64_t warps, uint64_t lanes,
            bool matrix_stores) {
  c.warp_instructions += warps;
  c.thread_instructions += lanes;
  c.by_class[static_cast<size_t>(op.cls)] += warps;
  c.host_store_bytes += n.host_bytes;
  const bool store = stores(op) || matrix_stores;
  if (op.cls == InstrClass::kAtomic) {
    c.global_atomic_requests += n.global_requests;
    c.global_atomic_sectors += n.global_sectors;
    c.global_atomic_bytes += n.global_bytes;
    c.shared_atomic_requests += n.shared_requests;
    c.shared_atomic_wavefronts += n.shared_wavefronts;
  } else if (op.fn[1] == bulk_copy && op.bulk->kind == BulkKind::kStore) {
    c.bulk_store_requests += n.global_requests;
    c.bulk_store_sectors += n.global_sectors;
    c.bulk_store_bytes += n.global_bytes;
  } else if (op.fn[1] == bulk_copy) {
    c.bulk_load_requests += n.global_requests;
    c.bulk_load_sectors += n.global_sectors;
    c.bulk_load_bytes += n.global_bytes;
  } else if (op.cls == InstrClass::kAsyncCopy) {
    c.async_requests += n.global_requests;
    c.async_sectors += n.global_sectors;
    c.async_bytes += n.global_bytes;
    c.async_waits += n.waits;
    c.async_waited_bytes += n.waited_bytes;
    c.async_ahead_bytes += n.ahead_bytes;
    c.async_overlapped_bytes += n.overlapped_bytes;
  } else if (store) {
    c.global_store_requests += n.global_requests;
    c.global_store_sectors += n.global_sectors;
    c.global_store_bytes += n.global_bytes;
    c.shared_store_requests += n.shared_requests;
    c.shared_store_wavefronts += n.shared_wavefronts;
    c.shared_store_conflicts += n.shared_conflicts;
    c.local_store_requests += n.local_requests;
    c.local_store_sectors += n.local_sectors;
  } else {
    c.global_load_requests += n.global_requests;
    c.global_load_sectors += n.global_sectors;
    c.global_load_bytes += n.global_bytes;
    c.shared_load_requests += n.shared_requests;
    c.shared_load_wavefronts += n.shared_wavefronts;
    c.shared_load_conflicts += n.shared_conflicts;
    c.local_load_requests += n.local_requests;
    c.local_load_sectors += n.local_sectors;
  }
  if (op.fn[1] == wgmma_product) {
    c.matrix_instructions += warps;
    c.wgmma_instructions += warps;
    c.wgmma_by_shape[op.wgmma->shape] += warps;
  } else if (op.fn[1] == wgmma_wait) {
    c.wgmma_waits += n.waits;
    c.wgmma_open_waits += n.open_waits;
  } else if (op.fn[1] == mbarrier_wait) {
    c.mbarrier_waits += n.waits;
  } else if (op.cls == InstrClass::kMatrix) {
    c.matrix_instructions += warps * op.table.issues;
  }
  if (op.cls == InstrClass::kBarrier) c.barriers += warps;
  const Control control = static_cast<Control>(op.control);
  if (control == Control::kBranch || control == Control::kBranchIndex) c.branches += warps;
  c.divergent_branches += n.divergent;
}

// Instructions that the cost model has no time for: arrivals of single copies at an mbarrier, other blocks'
// shared memory, textures.
constexpr std::string_view kNotModelled[] = {
    "cp.async.mbarrier",
    "cp.reduce.async.bulk",
    "st.async",
    "red.async",
    "barrier.cluster",
    "mapa",
    "ld.shared::cluster",
    "st.shared::cluster",
    "atom.shared::cluster",
    "red.shared::cluster",
    "tex",
    "tld4",
    "suld",
    "sust",
};

// Of bulk copies, those that go to other blocks.
constexpr std::string_view kNotModelledParts[] = {"multicast::cluster", "shared::cluster.shared::cta"};

// The beginning of an opcode that is among them, or nothing.
std::string_view not_modelled(std::string_view opcode) {
  for (const std::string_view prefix : kNotModelled)
    if (opcode.starts_with(prefix)) return prefix;
  for (const std::string_view part : kNotModelledParts)
    if (opcode.starts_with("cp.async.bulk") && opcode.find(part) != std::string_view::npos) return part;
  return {};
}

void count_lines(const Launch& launch, const std::vector<OpCounts>& ops,
                 const std::vector<BlockCounts>& blocks, LaunchReport& report) {
  std::map<std::pair<std::string, int>, Counters> lines;
  std::map<int, std::pair<std::string, int>> line_of;  // by location
  for (const auto& code : launch.kernel.codes) {
    if (!code) continue;
    for (size_t b = 0; b < code->blocks.size(); ++b) {
      const BlockCounts& n = blocks[code->first_block + b];
      if (n.warps == 0) continue;
      for (uint32_t i = code->blocks[b].begin; i < code->blocks[b].end; ++i) {
        const Op& op = code->ops[i];
        const OpOrigin& origin = launch.kernel.origins[op.index];
        auto known = line_of.find(origin.loc);
        if (known == line_of.end()) {
          const std::vector<SourcePlace> p = launch.module.students_place(origin.loc, launch.kernel);
          known = line_of
                      .emplace(origin.loc,
                               p.empty() ? std::pair<std::string, int>{} : std::pair{p[0].file, p[0].line})
                      .first;
        }
        const bool matrix_stores =
            origin.opcode.starts_with("stmatrix") || origin.opcode.starts_with("wmma.store");
        Counters c;
        add_op(c, op, ops[op.index], n.warps, n.lanes, matrix_stores);
        report.total.add(c);
        if (report.waits_at.empty() && (launch.kernel.flag_use[op.index] & kWaits))
          report.waits_at = known->second.first + ":" + std::to_string(known->second.second);
        if (const std::string_view name = not_modelled(origin.opcode);
            report.not_modelled.empty() && !name.empty()) {
          report.not_modelled = name;
          report.not_modelled_at = known->second.first + ":" + std::to_string(known->second.second);
        }
        lines[known->second].add(c);
      }
    }
  }
  for (auto& [where, counters] : lines)
    if (where.second > 0) report.lines.push_back({where.first, where.second, counters});
}

}  // namespace

void collect_report(Launch& launch, std::vector<std::unique_ptr<Worker>>& workers, LaunchReport& report) {
  const LaunchRequest& r = launch.request;
  report.kernel = demangle(r.kernel->name);
  report.mangled = r.kernel->name;
  report.grid = r.grid;
  report.block = r.block;
  report.dynamic_shared = r.dynamic_shared;
  report.static_shared = static_cast<uint32_t>(r.kernel->static_shared);
  report.cluster = launch.cluster;
  report.stream = r.stream;
  report.error = launch.error;
  report.registers = r.kernel->registers;
  report.registers_estimated = r.kernel->registers_estimated;
  report.occupancy_blocks =
      occupancy_blocks(*r.kernel, static_cast<int>(launch.threads), r.dynamic_shared, launch.env.profile);
  std::vector<OpCounts> ops = workers[0]->ops;
  std::vector<BlockCounts> blocks = workers[0]->blocks;
  for (size_t i = 1; i < workers.size(); ++i) {
    for (size_t k = 0; k < ops.size(); ++k) ops[k].add(workers[i]->ops[k]);
    for (size_t k = 0; k < blocks.size(); ++k) {
      blocks[k].warps += workers[i]->blocks[k].warps;
      blocks[k].lanes += workers[i]->blocks[k].lanes;
    }
  }
  count_lines(launch, ops, blocks, report);
  for (auto& w : workers)
    for (auto& [key, local] : w->findings) {
      local.finding.count = local.count;
      local.finding.first = local.first;
      launch.env.findings.put(key, local.order, std::move(local.finding));
    }
  if (launch.env.printf_output) *launch.env.printf_output += launch.printed.take(launch.env.printf_limit);
}

bool Options::set(const std::string& key, const std::string& value, std::string* error) {
  const struct {
    const char* name;
    bool Options::* flag;
  } flags[] = {{"memory", &Options::check_memory}, {"race", &Options::check_race},
               {"init", &Options::check_init},     {"sync", &Options::check_sync},
               {"async", &Options::check_async},   {"global_race", &Options::check_global_race},
               {"counters", &Options::counters},   {"cost", &Options::cost}};
  for (const auto& f : flags)
    if (key == f.name) {
      if (value != "on" && value != "off") {
        *error = "option " + key + " takes on or off, not '" + value + "'";
        return false;
      }
      this->*f.flag = value == "on";
      return true;
    }
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  const bool valid = !value.empty() && *end == 0 && number >= 0;
  if (key == "threads" && valid && number <= 1024) return threads = static_cast<int>(number), true;
  if (key == "max_warp_instructions" && valid)
    return max_warp_instructions = static_cast<uint64_t>(number), true;
  if (key == "sample_blocks" && valid && number <= 1024)
    return sample_blocks = static_cast<uint64_t>(number), true;
  if (key == "sample_seed" && valid) return sample_seed = static_cast<uint64_t>(number), true;
  if (key == "sample_warp_instructions" && valid)
    return sample_warp_instructions = static_cast<uint64_t>(number), true;
  if (key == "sample_call_instructions" && valid)
    return sample_call_instructions = static_cast<uint64_t>(number), true;
  if (key == "cost_seed" && valid) return cost_seed = static_cast<uint64_t>(number), true;
  if (key == "calls_in_graph" && valid && number <= 1024)
    return calls_in_graph = static_cast<int>(number), true;
  if (key == "timeline" && valid && number <= 64) return timeline = static_cast<int>(number), true;
  if (key == "max_seconds" && valid) return max_seconds = number, true;
  *error = "unknown option or value: " + key + "=" + value;
  return false;
}

}  // namespace vgpu
