// The state of one engine process: the device, what the program has made on it, and what was seen.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "checks/finding.h"
#include "device/memory.h"
#include "device/profile.h"
#include "exec/child_work.h"
#include "exec/launch.h"
#include "report.h"
#include "server/bounded_call.h"
#include "server/connection.h"
#include "server/host_code.h"
#include "streams/scheduler.h"
#include "streams/streams.h"

namespace vgpu {

// What ptxas said of a kernel: takes the place of estimates.
struct KernelFacts {
  int registers = 0;
  std::shared_ptr<const MachineCode> machine;  // may be absent
};

struct SessionConfig {
  Profile profile;
  Options options;
  uint64_t memory_limit = 0;
  std::string report_path;                      // empty: none is written
  std::map<std::string, KernelFacts> compiled;  // by mangled name
  std::optional<std::string> device_code;       // the only PTX that may be loaded, as UTF-8 of its bytes
  bool quiet = false;                           // no findings and sentences on stderr
  HostCode::Lookup look_up_lines = addr2line;
};

// What cudaDeviceGetLimit answers at first, by cudaLimit: stack, printf, malloc heap, sync depth, pending
// launches, L2 fetch granularity, persisting L2.
constexpr uint64_t kDefaultLimits[] = {1024, 1 << 20, DeviceHeap::kDefaultBytes, 2, 2048, 64, 0};
constexpr uint32_t kMallocHeapLimit = 2;  // cudaLimitMallocHeapSize

class Session {
 public:
  static constexpr uint64_t kStagingBytes = 8ull << 20;

  Session(SessionConfig config, std::function<bool()> should_stop);
  ~Session();
  Session(const Session&) = delete;

  struct Function {
    std::shared_ptr<LoadedModule> module;
    KernelInfo* kernel = nullptr;
  };

  SessionConfig config;
  DeviceMemory memory;
  SharedFile staging;
  FindingStore findings;
  Report report;
  L2Residency l2;
  Scheduler scheduler;
  Streams streams;

  std::map<uint64_t, std::shared_ptr<LoadedModule>> modules;
  std::map<uint64_t, Function> functions;
  std::map<std::pair<uint64_t, std::string>, uint64_t> function_ids;  // (module, name)
  uint64_t next_id = 1;                                               // of modules and functions

  HostCode host_code;
  wire::CodePlace caller{};  // of the request being served
  bool by_harness = false;   // who made it

  BoundedCall call;
  bool is_graded = false;             // the harness has bounded a call, now or before
  std::set<uint64_t> harness_owned;   // streams, graphs and executables that the harness made
  uint64_t captured_for_harness = 0;  // the stream that it captures a call on

  std::map<uint64_t, std::shared_ptr<Reservation>> graph_memory;  // of nodes that a program adds itself
  std::map<uint64_t, Condition> conditions;                       // of conditional nodes
  std::set<uint64_t> frees_queued;            // addresses given to a cudaFreeAsync that has not run yet
  std::map<AllocKind, int> allocations_made;  // for names: "cudaMalloc #3"
  std::map<uint32_t, uint64_t> limits;        // as set by the program
  std::string printf_output;                  // waits for kTakePrintf
  int sticky_error = 0;
  bool program_gone = false;
  bool host_faulted = false;  // the program touched device memory itself, and crashed
  SampleState sample;         // where options.sample_blocks asks for samples
  bool refused = false;       // a call asked for what the virtual GPU does not have

  LaunchEnvironment environment();
  uint64_t limit(uint32_t which) const;  // `which` is an index of kDefaultLimits

  // Answers a wait: done, a callback for the program to run first, or a failure that is sticky from now on.
  void answer(const Progress& progress, Reply& reply);
  // For requests that queue work: true when there is room; otherwise the reply is filled in.
  bool make_room(Reply& reply);

  // True where the request being served may change or destroy the object.
  bool may_change(uint64_t id) const { return by_harness || harness_owned.count(id) == 0; }
  // Keeps what the harness made from the program; `id` is of the object just made.
  void own(uint64_t id) {
    if (by_harness) harness_owned.insert(id);
  }
  // Whether the program has drawn the call's stream into a capture of its own.
  void note_capture() {
    if (call.open && call.stream != captured_for_harness && streams.is_capturing(call.stream))
      call.captured = true;
  }

  // Refuses a request with an error and a sentence, which the user sees once.
  void refuse(Reply& reply, int error, const std::string& sentence);
  // A sentence that belongs to no request.
  void tell(const std::string& sentence);
  // Findings without a message are none. `made_by` is the call of the API that the finding is about.
  void add_finding(Finding finding, const wire::CodePlace& made_by);

  // The program has closed its connection: what it left queued is dropped.
  void end_program();
  // Nothing has been asked for a while although work is queued: a program that watches memory for a result
  // would wait forever, so the work is done as a device would have done it by now.
  void run_idle();
  void fail(int error);
  std::string json();
  // Writes the report where one is wanted and prints the findings where nobody else will.
  void finish(bool with_text);

 private:
  int run_task(const Work& work, double* seconds);
  int run(const MarkerTask&, const Work& work, double* seconds);
  int run(const LaunchTask& task, const Work& work, double* seconds);
  int run_grid(LaunchRequest request, const Work& work, ChildWork& children, double* seconds);
  int run(const CopyTask& task, const Work& work, double* seconds);
  int run(const FillTask& task, const Work& work, double* seconds);
  int run(const AllocateTask& task, const Work& work, double* seconds);
  int run(const FreeTask& task, const Work& work, double* seconds);
  int run(const HostTask& task, const Work& work, double* seconds);
  int run(const EventTask& task, const Work& work, double* seconds);
  int run(const BlasTask& task, const Work& work, double* seconds);
  int run(const ConditionalTask& task, const Work& work, double* seconds);
  int run(const CallBoundTask& task, const Work& work, double* seconds);
  ReportContext context();
  ReportContext compose_context();

  struct ReadPiece {
    uint64_t end = 0;  // address behind the last copy's source
    bool written = false;
  };
  ReadPiece last_read_;
  uint64_t api_findings_ = 0;  // so many calls have left one: they are reported in that order
  std::function<bool()> should_stop_;
};

}  // namespace vgpu
