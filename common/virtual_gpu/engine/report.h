// What a run leaves behind: launches with their figures, findings, leaks, and sentences for the reader.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checks/finding.h"
#include "cost.h"
#include "exec/launch.h"
#include "server/bounded_call.h"

namespace vgpu {

class Report {
 public:
  // Programs may launch without end. The first launches keep everything, the next ones their totals, and
  // all of them are summed up per kernel.
  static constexpr size_t kLaunchesWithLines = 200;
  static constexpr int kLaunchesWithTimeline = 8;
  static constexpr size_t kLaunchesKept = 4096;
  static constexpr size_t kMessagesKept = 100;

  struct Launch {
    int index = 0;
    bool graph = false;
    LaunchReport figures;
    ModelledLaunch modelled;
  };
  struct KernelTotals {
    std::string kernel;
    uint64_t launches = 0, failed = 0;
    double modelled_seconds = 0, wall_seconds = 0;
    Counters counters;
    std::map<std::pair<std::string, int>, Counters> lines;
  };
  struct Traffic {
    uint64_t copies = 0, copied_bytes = 0, fills = 0, filled_bytes = 0, dropped_launches = 0;
    uint64_t to_host_bytes = 0, printed_bytes = 0;  // what host code could read of them
  };

  // The index the next launch will have: launches are numbered in the order they run.
  int next_index() const { return next_index_; }
  void add_launch(LaunchReport figures, const ModelledLaunch& modelled, bool graph);
  // True when the sentence is new; each is kept once.
  bool add_message(const std::string& sentence);
  void clear();

  const std::vector<Launch>& launches() const { return launches_; }
  const std::map<std::string, KernelTotals>& kernels() const { return kernels_; }  // by mangled name
  const std::vector<std::string>& messages() const { return messages_; }
  Traffic traffic;

 private:
  int next_index_ = 0;
  std::vector<Launch> launches_;
  std::map<std::string, KernelTotals> kernels_;
  std::vector<std::string> messages_;
  std::set<std::string> said_;
};

struct ReportedFinding {
  Finding finding;
  std::vector<SourcePlace> allocated_at;  // the allocation it names
};
struct ReportedLeak {
  const Allocation* allocation;
  std::vector<SourcePlace> allocated_at;
};

// All that a report needs beside the launches.
struct ReportContext {
  const Report& report;
  const Profile& profile;
  const Options& options;
  std::vector<ReportedFinding> findings;
  uint64_t findings_dropped;
  std::vector<ReportedLeak> leaks;
  const char* program_exit;  // "running" or "closed"
  int sticky_error;
  const BoundedCall& call;
  std::vector<SourcePlace> waited_at;  // where the call waited for the device
};

std::string report_json(const ReportContext& context);
// Findings and leaks for a person at a terminal; empty when there are none.
std::string report_text(const ReportContext& context);

// Writes beside the path and renames, so that a reader never sees half a report. False with the reason.
bool write_file(const std::string& path, const std::string& text, std::string* error);

// Which resource of an SM allows the fewest blocks of this launch: "threads", "registers", "shared",
// "blocks".
const char* occupancy_limiter(const LaunchReport& launch, const Profile& profile);

}  // namespace vgpu
