// A thread block in execution, and what it shares with the rest of its launch.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "checks/global_race.h"
#include "checks/proxy_writes.h"
#include "checks/shared_shadow.h"
#include "exec/async_copy.h"
#include "exec/async_unit.h"
#include "exec/cluster.h"
#include "exec/code.h"
#include "exec/launch.h"
#include "exec/module.h"
#include "exec/printf_log.h"
#include "exec/sectors.h"
#include "exec/side_by_side.h"
#include "exec/warp.h"

namespace vgpu {

struct BlockTrace;

// Memory figures of one op, kept per CPU thread and summed at the end of the launch.
struct OpCounts {
#define OP_COUNT(name) uint64_t name = 0;
#include "exec/op_counts.def"
  void add(const OpCounts& other);
};

struct BlockCounts {
  uint64_t warps = 0, lanes = 0;
};

struct LocalFinding {
  uint64_t order = ~0ull, first = ~0ull, count = 0;
  Finding finding;
};

// Everything about a launch that its CPU threads read, and the few things they agree on.
struct Launch {
  Launch(const LaunchRequest& r, LaunchEnvironment& e, ModuleImage& m, KernelCode& k)
      : request(r), env(e), module(m), kernel(k) {}

  const LaunchRequest& request;
  LaunchEnvironment& env;
  ModuleImage& module;
  KernelCode& kernel;
  const Code* entry = nullptr;
  std::vector<SharedRegion> shared_regions;
  uint32_t shared_bytes = 0;  // whole window, guards included
  uint32_t threads = 0, warps = 0;
  Dim3 cluster;                       // blocks in one
  uint64_t grid_workspace = 0;        // of a cooperative launch
  SectorMap* load_sectors = nullptr;  // cp.async not included
  SectorMap* copy_sectors = nullptr;
  SectorMap* store_sectors = nullptr;
  LaunchSample* sample = nullptr;  // where blocks leave their traces; null when time is not modelled
  GlobalRaceMap* global_race = nullptr;
  bool is_sampled = false;         // blocks may be abandoned
  bool is_torn = false;            // what blocks of earlier launches would have written may be missing
  uint64_t most_instructions = 0;  // of a block
  std::atomic<int> error{0};       // the first cudaError_t
  std::atomic<bool> stop{false};   // everything, at once
  std::atomic<uint64_t> blocks_done{0};
  PrintfLog printed;
  std::function<bool()> out_of_time;
};

// What one CPU thread collects.
struct Worker {
  explicit Worker(Launch& l) : launch(l), ops(l.kernel.origins.size()), blocks(l.kernel.block_count) {
    if (l.kernel.traits.copies_bulk && l.env.options.check_async)
      proxies = std::make_unique<ProxyWrites>(l.env.memory);
  }
  Launch& launch;
  std::vector<OpCounts> ops;
  std::vector<BlockCounts> blocks;
  std::unordered_map<uint64_t, LocalFinding> findings;
  std::unordered_map<uint64_t, LocalFinding*> known;  // the same by instruction: most occurrences repeat
  Allocation* recent[64] = {};                        // allocation an op touched last, by op index
  std::unique_ptr<TouchMap> touched;                  // while other threads run blocks of the same launch
  std::unique_ptr<ProxyWrites> proxies;               // where the kernel has bulk copies to check
};

struct Barrier {
  uint32_t arrived = 0;        // threads
  uint32_t expected = 0;       // threads; 0: the whole block
  uint32_t arrived_warps = 0;  // those, and the ones that only arrived
  uint32_t reduction_and = ~0u, reduction_or = 0, reduction_count = 0;
  const Op* first = nullptr;
};
constexpr int kBarriers = 16;
constexpr uint32_t kLocalBegin = 64;  // local addresses below are nobody's: a null local pointer is seen

struct Block {
  explicit Block(Worker& worker);
  ~Block();
  Block(const Block&) = delete;

  // Prepares for a block of the grid; keeps the memory of the one before.
  void start(uint64_t linear);
  enum class Outcome { kDone, kYielded, kWorking, kStopped };
  // Runs until all threads have exited, or (when `may_yield`) until its warps poll for something (kYielded)
  // or have worked for long (kWorking).
  Outcome run(bool may_yield);

  Worker* worker = nullptr;
  Launch* launch = nullptr;
  const Options* options = nullptr;
  bool watch_shared = false;  // some check looks at shared memory
  uint64_t linear = 0;
  Dim3 index{0, 0, 0};
  BlockTrace* trace = nullptr;  // null when time is not modelled
  std::vector<Warp> warps;
  std::vector<uint8_t> shared;
  SharedShadow shadow;
  UndefinedMemory undefined;
  uint32_t tick =
      1;  // advances when threads meet or commit copies; never restarts, so old stamps are simply old
  uint32_t start_tick = 1;              // stamps below it belong to an earlier block
  uint32_t full_tick = 1;               // accesses before it are ordered before everything now
  uint32_t known[kLanes][kLanes] = {};  // known[w][s]: warp w has seen what warp s did up to this tick
  std::unordered_map<uint64_t, std::vector<uint32_t>> released;  // by address: what its last writer had seen
  Barrier barriers[kBarriers];
  uint32_t exited_threads = 0;
  uint64_t instructions = 0, looked = 0;  // looked: how many there were at the last look at the clock
  uint64_t rounds = 0;                    // over its warps, for all blocks this one has been
  uint64_t runs = 0;                      // as many calls of run(), for all of them
  uint64_t changes = 0;                   // stores and atomics that may let somebody else go on
  uint32_t pending_async = 0;             // words in flight
  uint64_t occurrences = 0;               // of mistakes, in the order in which they happened
  std::unique_ptr<AsyncUnit> unit;        // from the first mbarrier or bulk copy on
  Cluster* cluster = nullptr;             // when the launch has clusters
  uint32_t cluster_rank = 0;
  std::unique_ptr<Cluster> alone;                    // without one: the cluster that it is by itself
  std::vector<uint8_t*> local;                       // per warp: local memory, word-interleaved by lane
  std::vector<uint32_t> local_size;                  // bytes per lane
  std::vector<std::vector<uint32_t>> local_written;  // per warp, per byte: lanes that wrote it
  std::string printf_text;
  bool printf_cut = false;    // it printed more than that
  bool is_abandoned = false;  // it goes on no more, and nothing that it does counts

  bool out_of_time();  // and reports it
  bool must_stop() const { return is_abandoned || launch->stop.load(std::memory_order_relaxed); }
  void end();  // hands over what it has printed and its trace
  uint32_t thread_of(const Warp& w, int lane) const { return w.id * kLanes + static_cast<uint32_t>(lane); }
};

Dim3 thread_index(const Launch& launch, uint32_t thread);
void collect_report(Launch& launch, std::vector<std::unique_ptr<Worker>>& workers, LaunchReport& report);

}  // namespace vgpu
