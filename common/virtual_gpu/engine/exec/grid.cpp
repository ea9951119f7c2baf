// A launch: validation, the blocks over the CPU's cores, and the figures at the end.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <deque>
#include <map>

#include "checks/launch_findings.h"
#include "checks/words.h"
#include "cost/sample.h"
#include "cuda_error.h"
#include "exec/block.h"
#include "exec/sample_blocks.h"
#include "exec/scheduler.h"
#include "exec/standstill.h"
#include "exec/thread_pool.h"
#include "exec/wgmma.h"

namespace vgpu {

namespace {

using Clock = std::chrono::steady_clock;

// Blocks that may look at each other's memory: a few are kept going at once, in turns, so that one can wait
// for another. New ones start only when none that runs has ended. Where all of them only poll, as many start
// as there are: with one at a time, a barrier of the grid would cost the square of its blocks.
void run_in_order(Launch& launch, Worker& worker, uint64_t blocks, uint64_t resident) {
  std::deque<std::unique_ptr<Block>> running;
  std::vector<std::unique_ptr<Block>> spare;
  uint64_t next = 0;
  Standstill standstill;
  std::vector<Block*> standing;
  while (next < blocks || !running.empty()) {
    bool progress = false, changed = false, works = false;
    const size_t n = running.size();
    for (size_t i = 0; i < n && !launch.stop; ++i) {
      std::unique_ptr<Block> b = std::move(running.front());
      running.pop_front();
      const uint64_t before = b->changes;
      const Block::Outcome outcome = b->run(true);
      works |= outcome == Block::Outcome::kWorking;
      changed |= b->changes != before;
      if (outcome == Block::Outcome::kYielded || outcome == Block::Outcome::kWorking) {
        running.push_back(std::move(b));
        continue;
      }
      if (outcome == Block::Outcome::kDone) ++launch.blocks_done;
      b->end();
      spare.push_back(std::move(b));
      progress = true;
    }
    if (launch.stop) break;
    if (!progress || running.empty()) {
      const uint64_t first = next, room = resident - std::min<uint64_t>(resident, running.size());
      const uint64_t wanted = works ? 1 : std::max<uint64_t>(1, running.size());
      for (uint64_t left = std::min({wanted, room, blocks - next}); left > 0; --left) {
        std::unique_ptr<Block> b;
        if (!spare.empty()) {
          b = std::move(spare.back());
          spare.pop_back();
        } else {
          b = std::make_unique<Block>(worker);
        }
        b->start(next++);
        running.push_back(std::move(b));
      }
      if (next != first) continue;
    }
    if (running.empty()) continue;
    standing.clear();
    for (const auto& b : running) standing.push_back(b.get());
    // Blocks take turns from the front, and after each whole round the order is the same.
    if (!standstill.after_round(progress || changed || works, standing)) continue;
    bool moved = false;
    for (Block* b : standing) moved |= give_up_product_waits(*b);
    if (moved) continue;
    report_hang(*running.front(), next < blocks ? HangReason::kBlocksNotStarted : HangReason::kBlocksPoll);
  }
  for (auto& b : running) b->end();
}

// Each thread takes the next block in order and runs it to its end.
void run_to_the_end(Launch& launch, std::vector<std::unique_ptr<Worker>>& workers, uint64_t blocks) {
  std::atomic<uint64_t> next{0};
  const uint64_t in_cluster = launch.cluster.count();
  thread_pool().run(static_cast<int>(workers.size()), [&](int i) {
    Worker& worker = *workers[static_cast<size_t>(i)];
    std::unique_ptr<Block> block;
    std::vector<std::unique_ptr<Block>> together;
    while (in_cluster > 1 && !launch.stop) {
      const uint64_t number = next.fetch_add(1);
      if (number >= blocks / in_cluster) return;
      run_cluster(launch, worker, number, together);
    }
    while (!launch.stop) {
      const uint64_t number = next.fetch_add(1);
      if (number >= blocks) break;
      if (!block) block = std::make_unique<Block>(worker);
      block->start(number);
      if (block->run(false) == Block::Outcome::kDone) ++launch.blocks_done;
      block->end();
    }
  });
}

constexpr int kMostStaticShared = 48 << 10;  // of a block
constexpr int kMostLocal = (512 << 10) - 1;  // of a thread

int registers_of_warp(const KernelInfo& kernel, const Profile& p) {
  return (kernel.registers * kLanes + p.register_granularity - 1) / p.register_granularity *
         p.register_granularity;
}

}  // namespace

int occupancy_blocks(const KernelInfo& kernel, int block_threads, uint64_t dynamic_shared, const Profile& p) {
  if (block_threads < 1 || block_threads > std::min(1024, kernel.max_threads)) return 0;
  const int warps = (block_threads + kLanes - 1) / kLanes;
  const int by_warps = std::min(p.max_warps_per_sm, p.max_threads_per_sm / kLanes) / warps;
  const int by_registers = kernel.registers > 0 ? p.registers_per_sm / (registers_of_warp(kernel, p) * warps)
                                                : p.max_blocks_per_sm;
  const uint64_t shared = static_cast<uint64_t>(kernel.static_shared) + dynamic_shared +
                          static_cast<uint64_t>(p.reserved_shared_per_block);
  const uint64_t granular = (shared + static_cast<uint64_t>(p.shared_granularity) - 1) /
                            static_cast<uint64_t>(p.shared_granularity) *
                            static_cast<uint64_t>(p.shared_granularity);
  const int by_shared =
      granular ? static_cast<int>(static_cast<uint64_t>(p.shared_per_sm) / granular) : p.max_blocks_per_sm;
  return std::max(0, std::min({p.max_blocks_per_sm, by_warps, by_registers, by_shared}));
}

namespace {

// A sentence where the launch's clusters are none that the kernel or the device has; dimensions that are all
// 0 ask for nothing.
std::string wrong_clusters(const LaunchRequest& r, const KernelCode& code) {
  constexpr uint64_t kPortable = 8, kMost = 16;
  const Dim3& asked = r.cluster;
  const bool asks = asked.x != 0 || asked.y != 0 || asked.z != 0;
  if (asks && (asked.x == 0 || asked.y == 0 || asked.z == 0))
    return "clusters of " + dim_text(asked) + ": a dimension is zero";
  const int* built = code.required_cluster[0] > 0 ? code.required_cluster : r.kernel->required_cluster;
  const Dim3 required{static_cast<uint32_t>(built[0]), static_cast<uint32_t>(built[1]),
                      static_cast<uint32_t>(built[2])};
  const bool requires_some = built[0] != 0 || built[1] != 0 || built[2] != 0;
  if (requires_some && required.count() == 0)
    return "cudaFuncSetAttribute has required clusters of " + dim_text(required) +
           ": set width, height and depth";
  if (requires_some && asks && !(asked.x == required.x && asked.y == required.y && asked.z == required.z))
    return "clusters of " + dim_text(asked) + ", where the kernel requires " + dim_text(required);
  if (code.needs_cluster && !requires_some && !asks)
    return "the kernel is launched with clusters alone (cudaLaunchKernelEx, "
           "cudaLaunchAttributeClusterDimension)";
  const Dim3 cluster = cluster_size(r, code);
  const std::string size = "clusters of " + std::to_string(cluster.count()) + " blocks";
  if (cluster.count() > kMost) return size + ", where a device has at most 16";
  if (code.max_cluster > 0 && cluster.count() > static_cast<uint64_t>(code.max_cluster))
    return size + ", but the kernel is built for at most " + std::to_string(code.max_cluster) +
           " (__launch_bounds__)";
  if (cluster.count() > kPortable && !r.kernel->any_cluster_size)
    return size +
           ": more than 8 are not portable; allow them with "
           "cudaFuncSetAttribute(cudaFuncAttributeNonPortableClusterSizeAllowed)";
  if (r.grid.x % cluster.x != 0 || r.grid.y % cluster.y != 0 || r.grid.z % cluster.z != 0)
    return "a grid of " + dim_text(r.grid) + " blocks, which clusters of " + dim_text(cluster) +
           " do not divide";
  return "";
}

}  // namespace

int check_launch(const LaunchRequest& r, LaunchEnvironment& env, std::string* message) {
  // As an H200 with CUDA 13 answers.
  auto fail = [&](int error, const std::string& why) {
    *message = "kernel " + demangle(r.kernel->name) + ": " + why;
    return error;
  };
  auto empty = [](const Dim3& d) { return d.x == 0 || d.y == 0 || d.z == 0; };
  if (empty(r.grid) || empty(r.block))
    return fail(cuda::kInvalidValue, "a grid of " + dim_text(r.grid) + " and blocks of " + dim_text(r.block) +
                                         ": a dimension is zero");
  if (r.grid.x > 0x7fffffffu || r.grid.y > 65535 || r.grid.z > 65535)
    return fail(cuda::kInvalidValue, "a grid of " + dim_text(r.grid) + " exceeds (2147483647,65535,65535)");
  if (r.block.x > 1024 || r.block.y > 1024 || r.block.z > 64 || r.block.count() > 1024)
    return fail(cuda::kInvalidValue,
                "blocks of " + dim_text(r.block) + " have more than 1024 threads or exceed (1024,1024,64)");
  const int threads = static_cast<int>(r.block.count());
  if (threads > r.kernel->max_threads)
    return fail(cuda::kInvalidValue, std::to_string(threads) +
                                         " threads, but the kernel is built for at most " +
                                         std::to_string(r.kernel->max_threads) + " (__launch_bounds__)");
  const int* need = r.kernel->required_threads;
  if (need[0] > 0 && (r.block.x != static_cast<uint32_t>(need[0]) ||
                      r.block.y != static_cast<uint32_t>(std::max(1, need[1])) ||
                      r.block.z != static_cast<uint32_t>(std::max(1, need[2]))))
    return fail(cuda::kInvalidValue, "blocks of " + dim_text(r.block) + " where the kernel requires (" +
                                         std::to_string(need[0]) + "," +
                                         std::to_string(std::max(1, need[1])) + "," +
                                         std::to_string(std::max(1, need[2])) + ")");
  if (r.kernel->static_shared > kMostStaticShared)  // ptxas makes no machine code of it
    return fail(cuda::kInvalidPtx, std::to_string(r.kernel->static_shared) +
                                       " bytes of static shared memory, of which there are at most " +
                                       std::to_string(kMostStaticShared) +
                                       ": take dynamic shared memory for more");
  if (static_cast<int64_t>(r.dynamic_shared) > r.kernel->max_dynamic_shared)
    return fail(cuda::kInvalidValue,
                std::to_string(r.dynamic_shared) +
                    " bytes of dynamic shared memory beside the kernel's static " +
                    std::to_string(r.kernel->static_shared) + ", but " +
                    std::to_string(r.kernel->max_dynamic_shared) +
                    " are allowed: raise cudaFuncAttributeMaxDynamicSharedMemorySize first");
  if (r.kernel->local_bytes > kMostLocal)
    return fail(cuda::kInvalidValue, std::to_string(r.kernel->local_bytes) +
                                         " bytes of local memory a thread, of which there are fewer than " +
                                         std::to_string(kMostLocal + 1) +
                                         ": keep large arrays in global memory");
  if (r.dynamic_shared + static_cast<uint64_t>(r.kernel->static_shared) >
      static_cast<uint64_t>(env.profile.shared_per_block_optin))
    return fail(cuda::kInvalidValue, "more shared memory than a block of this device may have (" +
                                         std::to_string(env.profile.shared_per_block_optin) + " bytes)");
  if (r.kernel->registers > 0 && !r.kernel->registers_estimated) {
    const int taken = registers_of_warp(*r.kernel, env.profile) * ((threads + kLanes - 1) / kLanes);
    if (taken > env.profile.registers_per_block)
      return fail(
          cuda::kLaunchOutOfResources,
          std::to_string(threads) + " threads with " + std::to_string(r.kernel->registers) +
              " registers each, which takes " + std::to_string(taken) + " where a block has " +
              std::to_string(env.profile.registers_per_block) +
              ": say how many threads there will be with __launch_bounds__, or launch smaller blocks");
  }
  auto* module = static_cast<ModuleImage*>(r.module);
  const KernelCode& code = module->code_of(r.kernel);
  if (const std::string wrong = wrong_clusters(r, code); !wrong.empty())
    return fail(cuda::kInvalidClusterSize, wrong);
  const Dim3 cluster = cluster_size(r, code);
  if (cluster.count() > 1 && r.cooperative)
    return fail(cuda::kNotSupported, "a cooperative launch of clusters is not supported on the virtual GPU");
  if (!code.unsupported.empty()) {
    const Unsupported& u = code.unsupported.front();
    Finding f = checks::unsupported(u);
    f.place = module->students_place(u.loc, code);
    f.kernel = demangle(r.kernel->name);
    f.launch = r.index;
    f.first = seen_at(static_cast<uint64_t>(r.index));
    env.findings.add(f);
    return fail(cuda::kNotSupported, f.message);
  }
  if (code.traits.uses_heap && !env.memory.heap().make())
    return fail(cuda::kMemoryAllocation,
                "it uses malloc, and a heap of " + std::to_string(env.memory.heap().limit()) +
                    " bytes (cudaLimitMallocHeapSize) does not fit in device memory");
  if (r.cooperative) {
    const uint64_t fit =
        static_cast<uint64_t>(occupancy_blocks(*r.kernel, threads, r.dynamic_shared, env.profile)) *
        static_cast<uint64_t>(env.profile.sms);
    if (r.grid.count() > fit)
      return fail(cuda::kCooperativeLaunchTooLarge,
                  std::to_string(r.grid.count()) +
                      " blocks of a cooperative launch do not fit on the device at once (" +
                      std::to_string(fit) + " do)");
  }
  return 0;
}

namespace {

// A launch on a number of CPU threads, with all that it collects.
struct Attempt {
  Attempt(const LaunchRequest& request, LaunchEnvironment& env, KernelCode& kernel, int threads)
      : launch(request, env, *static_cast<ModuleImage*>(request.module), kernel),
        copies(wire::kDeviceBase, env.memory.device_extent()),
        loads(std::make_shared<SectorMap>(wire::kDeviceBase, env.memory.device_extent())),
        stores(std::make_shared<SectorMap>(wire::kDeviceBase, env.memory.device_extent())) {
    launch.entry = kernel.codes[static_cast<size_t>(kernel.function)].get();
    launch.most_instructions = env.options.max_warp_instructions;
    launch.threads = static_cast<uint32_t>(request.block.count());
    launch.warps = (launch.threads + kLanes - 1) / kLanes;
    launch.cluster = cluster_size(request, kernel);
    launch.shared_regions = kernel.shared;
    if (request.dynamic_shared > 0)
      launch.shared_regions.push_back(
          {kernel.dynamic_begin, kernel.dynamic_begin + request.dynamic_shared, "dynamic shared memory"});
    launch.shared_bytes = kernel.dynamic_begin + request.dynamic_shared + 16;
    if (env.options.counters) {
      launch.load_sectors = loads.get();
      launch.copy_sectors = &copies;
      launch.store_sectors = stores.get();
    }
    if (env.options.counters && env.options.cost) {
      const int resident = occupancy_blocks(*request.kernel, static_cast<int>(launch.threads),
                                            request.dynamic_shared, env.profile);
      sample = std::make_shared<LaunchSample>(
          kernel, request.grid.count(), launch.warps,
          l1_sectors_per_block(env.profile, launch.shared_bytes, resident), env.options.cost_seed);
      sample->loads = loads;
      sample->stores = stores;
      launch.sample = sample.get();
    }
    if (env.options.check_global_race) launch.global_race = &global_race;
    for (int i = 0; i < threads; ++i) workers.push_back(std::make_unique<Worker>(launch));
  }

  LaunchReport report() {
    LaunchReport out;
    collect_report(launch, workers, out);
    out.sampled = launch.is_sampled;
    out.blocks_begun = begun;
    out.blocks_finished = launch.blocks_done;
    out.distinct_plain_load_sectors = loads->count();
    loads->add(copies);
    out.distinct_load_sectors = loads->count();
    out.distinct_store_sectors = stores->count();
    out.distinct_load_pairs = loads->count_pairs();
    out.distinct_store_pairs = stores->count_pairs();
    out.distinct_store_lines = stores->count_lines();
    out.sample = std::move(sample);
    return out;
  }

  uint64_t begun = 0;  // of a sampled launch: blocks
  Launch launch;
  SectorMap copies;                          // by cp.async
  std::shared_ptr<SectorMap> loads, stores;  // when a launch is over, its loads have its copies, too
  std::shared_ptr<LaunchSample> sample;
  GlobalRaceMap global_race;
  std::vector<std::unique_ptr<Worker>> workers;
};

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// When to give up on a launch: a thread has run it for too long, or nobody waits for it any more. What counts
// is the CPU time of the thread that has most: on a busy machine a launch may do as much as on an idle one,
// and threads that have no block left do not lengthen the time of one that is in a loop.
class TimeBudget {
 public:
  explicit TimeBudget(LaunchEnvironment& env) : env_(env) {}
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  bool at_end() {
    const double now = seconds();
    // No thread runs for longer than the launch: its own clock, a system call, is asked for later.
    if (thread_.launch != number_) thread_ = {number_, thread_seconds()};
    if (now > env_.options.max_seconds && thread_seconds() - thread_.begin > env_.options.max_seconds)
      ended_ = true;
    // Looking whether the program is still there costs a system call: now and then is enough.
    const int64_t ms = static_cast<int64_t>(now * 1000);
    int64_t last = looked_.load();
    if (ms >= last + 20 && looked_.compare_exchange_strong(last, ms) && env_.should_stop &&
        env_.should_stop())
      ended_ = abandoned_ = true;
    return ended_;
  }
  bool ended() const { return ended_; }
  bool abandoned() const { return abandoned_; }

 private:
  struct OfThread {
    uint64_t launch;
    double begin;  // its CPU time when it first looked
  };
  static inline std::atomic<uint64_t> launches_{0};
  static inline thread_local OfThread thread_{0, 0};

  LaunchEnvironment& env_;
  const uint64_t number_ = ++launches_;
  const Clock::time_point begin_ = Clock::now();
  std::atomic<int64_t> looked_{0};
  std::atomic<bool> ended_{false}, abandoned_{false};
};

// A grid barrier for a cooperative launch, as long as it lives.
class GridBarrier {
 public:
  GridBarrier(Launch& launch, DeviceMemory& memory) : memory_(memory) {
    if (!launch.request.cooperative) return;
    workspace_ = memory.allocate(256, AllocKind::kInternal, "grid barrier");
    if (workspace_ == nullptr) return;
    workspace_->from_program = false;
    std::memset(DeviceMemory::host(workspace_->base), 0, 256);
    memory.mark_written(*workspace_, workspace_->base, 256);
    launch.grid_workspace = workspace_->base;
  }
  ~GridBarrier() {
    if (workspace_ != nullptr)
      memory_.release(workspace_->base, AllocKind::kInternal, "the end of its launch");
  }
  GridBarrier(const GridBarrier&) = delete;

 private:
  DeviceMemory& memory_;
  Allocation* workspace_ = nullptr;
};

void run_sample(Attempt& attempt, LaunchEnvironment& env) {
  Launch& launch = attempt.launch;
  const GridBarrier barrier(launch, env.memory);
  launch.is_sampled = true;
  launch.is_torn = env.sample->is_torn;
  attempt.begun = run_drawn(launch, *attempt.workers[0], *env.sample);
  env.sample->is_torn |= launch.blocks_done < launch.request.grid.count();
}

// Runs the blocks side by side. False, with memory as it was before, when that could have come out otherwise
// than one block after the other: threads met in memory, or the launch failed and others had gone ahead.
bool side_by_side(Attempt& attempt, TimeBudget& budget, uint64_t blocks) {
  Launch& launch = attempt.launch;
  DeviceMemory& memory = launch.env.memory;
  UndoLog undo(memory);
  for (auto& w : attempt.workers) w->touched = std::make_unique<TouchMap>(memory, undo);
  launch.out_of_time = [&] {
    if (undo.full() || budget.abandoned()) launch.stop = true;
    return budget.at_end();
  };
  run_to_the_end(launch, attempt.workers, blocks);
  if (budget.ended()) return true;  // there is no time for another way
  std::vector<const TouchMap*> touched;
  for (const auto& w : attempt.workers) touched.push_back(w->touched.get());
  const bool collided = TouchMap::conflict(touched);
  launch.kernel.blocks_collide |= collided;
  if (!collided && launch.error == 0 && !launch.stop) return true;
  undo.undo();
  return false;
}

}  // namespace

LaunchReport run_launch(const LaunchRequest& request, LaunchEnvironment& env) {
  KernelCode& kernel = static_cast<ModuleImage*>(request.module)->code_of(request.kernel);
  TimeBudget budget(env);
  const uint64_t blocks = request.grid.count();
  const bool in_turns = kernel.traits.orders_blocks || request.cooperative || env.options.check_global_race;
  const int threads = static_cast<int>(std::min<uint64_t>(
      static_cast<uint64_t>(env.options.threads > 0 ? env.options.threads : thread_pool().size()), blocks));
  auto timed = [&](Attempt& attempt) {
    LaunchReport report = attempt.report();
    report.wall_seconds = budget.seconds();
    return report;
  };
  const bool samples = env.options.sample_blocks > 0 && env.sample != nullptr;
  if (threads > 1 && !in_turns && !kernel.blocks_collide && !samples) {
    Attempt attempt(request, env, kernel, threads);
    if (side_by_side(attempt, budget, blocks)) return timed(attempt);
  }

  Attempt attempt(request, env, kernel, 1);
  Launch& launch = attempt.launch;
  launch.out_of_time = [&] {
    const bool end = budget.at_end();
    if (budget.abandoned()) launch.stop = true;
    return end;
  };
  if (samples) return run_sample(attempt, env), timed(attempt);
  if (!in_turns || launch.cluster.count() > 1) {
    run_to_the_end(launch, attempt.workers, blocks);
    return timed(attempt);
  }
  const GridBarrier barrier(launch, env.memory);
  const int fit = std::max(1, occupancy_blocks(*request.kernel, static_cast<int>(launch.threads),
                                               request.dynamic_shared, env.profile));
  run_in_order(launch, *attempt.workers[0], blocks,
               static_cast<uint64_t>(fit) * static_cast<uint64_t>(env.profile.sms));
  return timed(attempt);
}

}  // namespace vgpu
