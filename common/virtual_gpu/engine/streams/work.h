// What a stream can be asked to do, and one such thing waiting in line.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "device/transfer.h"
#include "exec/launch.h"
#include "protocol.h"
#include "protocol_blas.h"

namespace vgpu {

struct LaunchTask {
  std::shared_ptr<LoadedModule> module;  // keeps the code alive for graphs that outlive an unload
  LaunchRequest request;
};
struct CopyTask {
  CopyPlan plan;
  std::vector<uint8_t> packed{};  // pageable source data, taken when the copy was queued; empty:
  uint64_t staging_offset = 0;    // the packed side lies in the staging area (copies that run at once)
  wire::CodePlace caller{};
};
struct FillTask {
  FillPlan plan;
  wire::CodePlace caller{};
};
struct AllocateTask {  // cudaMallocAsync in a graph
  std::shared_ptr<Reservation> reservation;
};
struct FreeTask {  // cudaFreeAsync
  uint64_t address;
  wire::CodePlace caller{};
  std::shared_ptr<Reservation> reservation;  // where it is a graph's
  const char* by = "cudaFreeAsync";
};
struct BlasTask {
  wire::Blas call;
  wire::CodePlace caller{};
  std::shared_ptr<wire::BlasNumber> number;  // what it computes, where that is one number
};
struct HostTask {  // runs in the program
  uint64_t function, user_data;
};
struct EventTask {  // in a graph: each launch records the event, or waits for what it recorded last
  uint64_t event;
  bool waits;
};
struct Graph;
struct ConditionalTask {  // in a graph
  uint64_t condition;
  wire::ConditionalKind kind;
  std::vector<std::shared_ptr<const Graph>> bodies;
};
struct MarkerTask {};   // nothing to do, only a place in the order: event records, waits, ends of graphs
struct CallBoundTask {  // the harness's: a call of the program's begins or ends here
  bool begins;
};

using Task = std::variant<MarkerTask, LaunchTask, CopyTask, FillTask, AllocateTask, FreeTask, HostTask,
                          CallBoundTask, BlasTask, EventTask, ConditionalTask>;

inline bool uses_device(const Task& task) {
  return std::holds_alternative<LaunchTask>(task) || std::holds_alternative<CopyTask>(task) ||
         std::holds_alternative<FillTask>(task) || std::holds_alternative<BlasTask>(task);
}

struct Work {
  uint64_t id = 0;  // rises in the order of queueing
  uint64_t stream = 0;
  bool in_graph = false;
  bool on_device = false;            // takes time on the modelled device
  std::shared_ptr<const Task> task;  // let go when done: events hold on to finished work for its times
  std::vector<std::shared_ptr<Work>> after;  // must be done first; emptied when this is done
  bool done = false;
  uint64_t callback_token = 0;  // of a HostTask that the program has been asked to run
  // The modelled clock, in seconds.
  double not_before = 0;  // when the host queued it
  double finish = 0;
};

using WorkPtr = std::shared_ptr<Work>;

}  // namespace vgpu
