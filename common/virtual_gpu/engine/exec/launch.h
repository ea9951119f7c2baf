// What the rest of the engine asks of the execution core: load a module, launch a kernel, get its figures.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "checks/finding.h"
#include "device/memory.h"
#include "device/profile.h"
#include "exec/op.h"
#include "protocol.h"

namespace vgpu {

struct LaunchSample;

struct Options {
  bool check_memory = true, check_race = true, check_init = true, check_sync = true, check_async = true;
  bool check_global_race = false;  // between blocks; off by default
  bool counters = true;
  bool cost = true;                              // model the time; needs counters
  uint64_t cost_seed = 0;                        // draws the blocks the model looks at; 0: a fixed choice
  int timeline = 0;                              // warps of one block whose instructions are listed; 0: none
  int calls_in_graph = 0;                        // model launches in a graph of so many calls, too; 0: do not
  int threads = 0;                               // CPU threads, 0: all
  uint64_t max_warp_instructions = 200'000'000;  // per block; then the launch is called hung
  double max_seconds = 120;
  // Run so many blocks (or clusters) of each launch and leave out the others; 0: run all. A block that has
  // run its share of instructions, or waits for one that is left out, is abandoned without a finding.
  uint64_t sample_blocks = 0;
  uint64_t sample_seed = 0;                       // draws them
  uint64_t sample_warp_instructions = 100'000;    // of a block
  uint64_t sample_call_instructions = 5'000'000;  // of all blocks of a call
  // "race=off", "threads=1", "max_seconds=5", …; false (with the reason) when unknown or malformed.
  bool set(const std::string& key, const std::string& value, std::string* error);
};

struct Counters {
#define COUNTER(name) uint64_t name = 0;
#include "exec/counters.def"
  std::array<uint64_t, static_cast<size_t>(InstrClass::kCount)> by_class{};  // warp-level
  std::map<std::string, uint64_t> wgmma_by_shape;  // of wgmma_instructions: "m64n128k16.f32.f16"
  void add(const Counters& other);
};

const char* instr_class_name(InstrClass cls);

struct LineCounters {
  std::string file;
  int line = 0;
  Counters counters;
};

struct LaunchReport {
  std::string kernel, mangled;
  Dim3 grid, block;
  uint32_t dynamic_shared = 0, static_shared = 0;
  Dim3 cluster;                                    // blocks in one
  bool sampled = false;                            // some blocks were left out, as the options ask
  uint64_t blocks_finished = 0, blocks_begun = 0;  // where it is sampled
  uint64_t stream = 0;
  int error = 0;  // cudaError_t
  Counters total;
  std::string waits_at;  // "file:line" of a loop in which threads wait for others or for a clock; or empty
  std::string not_modelled, not_modelled_at;  // an instruction without a time in the cost model, and where
  std::vector<LineCounters> lines;  // the student's line: the outermost place of the inlined-at chain
  uint64_t distinct_load_sectors = 0, distinct_store_sectors = 0;  // 32-byte sectors of device memory
  uint64_t distinct_plain_load_sectors = 0;                        // those that not only cp.async read
  uint64_t distinct_load_pairs = 0, distinct_store_pairs = 0;      // aligned pairs of them: 64 bytes
  uint64_t distinct_store_lines = 0;                               // aligned fours: 128 bytes
  std::shared_ptr<const LaunchSample> sample;                      // for the cost model; not kept
  double wall_seconds = 0;
  double modelled_seconds = 0;
  double unlike_replayed = 1;  // how much longer an instruction takes, on average, than in the part replayed
  int occupancy_blocks = 0;    // resident blocks per SM on the profile
  int registers = 0;
  bool registers_estimated = true;
};

struct MachineCode;

struct KernelInfo {
  std::string name;
  std::vector<wire::ParamSlot> params;
  uint32_t param_bytes = 0;
  int max_threads = 1024, required_threads[3] = {0, 0, 0};
  int static_shared = 0, local_bytes = 0, const_bytes = 0;
  int registers = 0;
  bool registers_estimated = true;
  std::shared_ptr<const MachineCode> machine;  // from ptxas, where known
  int ptx_version = 0, binary_version = 0;
  int max_dynamic_shared = 48 * 1024;   // beside the static part, until cudaFuncSetAttribute changes it
  bool any_cluster_size = false;        // more than 8 blocks, which not every device runs
  int required_cluster[3] = {0, 0, 0};  // by cudaFuncSetAttribute; all 0: none
};

class LoadedModule {
 public:
  virtual ~LoadedModule() = default;
  // nullptr when the module has no such kernel.
  virtual KernelInfo* kernel(const std::string& name) = 0;
  struct Symbol {
    uint64_t address, bytes;
  };
  virtual bool symbol(const std::string& name, Symbol* out) const = 0;
};

// Parses `ptx`, one module or several that wire::kBetweenModules separates and that are linked, and allocates
// the variables. On failure returns nullptr, sets a cudaError_t
// (kInvalidPtx or kMemoryAllocation of cuda_error.h) and a sentence.
std::unique_ptr<LoadedModule> load_module(const std::string& ptx, DeviceMemory& memory, int* error,
                                          std::string* message);

struct LaunchRequest {
  LoadedModule* module = nullptr;
  KernelInfo* kernel = nullptr;
  Dim3 grid, block, cluster;
  uint32_t dynamic_shared = 0;
  bool cooperative = false;
  std::vector<uint8_t> params;
  uint64_t stream = 0;
  int index = 0;  // in the report
  int depth = 0;  // launched by a kernel that was launched by a kernel …
};

class ChildWork;

// What launches leave behind where only some of their blocks are run.
struct SampleState {
  bool is_torn = false;           // memory lacks what blocks that were left out would have written
  uint64_t instructions_run = 0;  // in the call at hand
};

struct LaunchEnvironment {
  DeviceMemory& memory;
  FindingStore& findings;
  const Options& options;
  const Profile& profile;
  std::string* printf_output;  // appended
  uint64_t printf_limit = 1 << 20;
  std::function<bool()> should_stop;  // polled now and then: the program or the harness has gone
  ChildWork* children = nullptr;      // takes what the grid asks for
  SampleState* sample = nullptr;      // where the options ask for samples
};

// Errors that hardware reports at the call: too many threads, too much shared memory, a zero dimension,
// a cooperative grid that does not fit, an instruction the engine does not know (with a finding).
int check_launch(const LaunchRequest& request, LaunchEnvironment& env, std::string* message);

// Runs the grid to its end. The report's `error` is kSuccess or a sticky error of cuda_error.h:
// kIllegalAddress, kMisalignedAddress, kAssert, kLaunchFailure (trap), kLaunchTimeout (hang),
// kIllegalInstruction.
LaunchReport run_launch(const LaunchRequest& request, LaunchEnvironment& env);

// Resident blocks per SM on the profile for this kernel and block size.
int occupancy_blocks(const KernelInfo& kernel, int block_threads, uint64_t dynamic_shared,
                     const Profile& profile);

}  // namespace vgpu
