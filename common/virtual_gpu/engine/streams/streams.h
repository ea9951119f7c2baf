// Streams, events, captures and graphs: who must wait for whom.
//
// Every operation becomes work in the scheduler's queue, behind the last work of its stream. The legacy
// default stream is the one that joins others: its work also waits for all earlier work of every blocking
// stream, and later work of blocking streams (the per-thread default stream among them) waits for it.
// Streams made with cudaStreamNonBlocking stand apart. Events carry the place where they were recorded.
//
// While a stream captures, its operations become nodes of a graph instead, with the same edges. Calls that
// would break a capture end it the way CUDA does: the call fails and the capture becomes invalid.
//
// All functions that return int return a cudaError_t.
#pragma once

#include <map>
#include <memory>

#include "streams/graph.h"
#include "streams/scheduler.h"

namespace vgpu {

class Streams {
 public:
  explicit Streams(Scheduler& scheduler);

  uint64_t create_stream(uint32_t flags);
  int destroy_stream(uint64_t id);
  bool has_stream(uint64_t id) const { return streams_.count(id) != 0; }
  bool is_capturing(uint64_t id) const;
  // A launch that the stream was to capture has failed.
  void invalidate_capture(uint64_t id);

  // Queues a task, or captures it.
  int submit(uint64_t stream, Task task);
  // Does a task before returning, after what the stream has queued. When the progress is not ok(), nothing
  // of the task has happened: the call is to be repeated, or has failed.
  int submit_and_run(uint64_t stream, Task task, Progress* progress);
  // Queues a bound of a call, outside any capture.
  int bound_call(uint64_t stream, bool begins);

  int sync_stream(uint64_t id, Progress* progress);
  int query_stream(uint64_t id, Progress* progress);
  int sync_device(Progress* progress);
  int stream_wait(uint64_t stream, uint64_t event);

  uint64_t create_event(uint32_t flags);
  int destroy_event(uint64_t id);
  int record_event(uint64_t event, uint64_t stream);
  int sync_event(uint64_t id, Progress* progress);
  int query_event(uint64_t id, Progress* progress);
  int elapsed(uint64_t start, uint64_t end, float* milliseconds) const;

  // For calls that CUDA forbids while a capture is on (cudaMalloc, synchronous copies, …): 0, or the error,
  // and the capture is invalid from then on.
  int refuse_during_capture();
  int begin_capture(uint64_t stream, uint32_t mode);
  int end_capture(uint64_t stream, uint64_t* graph);
  struct CaptureState {
    uint32_t status = 0;  // cudaStreamCaptureStatus
    uint64_t id = 0;
  };
  int capture_state(uint64_t stream, CaptureState* state) const;
  // The nodes that the next node of a capturing stream waits for; and another choice of them, on the stream
  // that the capture began on.
  int capture_dependencies(uint64_t stream, std::vector<int>* nodes);
  int set_capture_dependencies(uint64_t stream, const std::vector<int>& nodes);
  int capture_event(uint64_t stream, uint64_t event, bool waits);
  // Nodes of another graph, and a node that runs graphs as a condition says.
  int capture_graph(uint64_t stream, uint64_t graph);
  int capture_conditional(uint64_t stream, uint64_t condition, wire::ConditionalKind kind,
                          const std::vector<uint64_t>& bodies);
  // True when the graph that the stream is captured into frees this address already.
  bool frees_in_capture(uint64_t stream, uint64_t address) const;

  // `flags` are cudaGraphInstantiateFlags.
  int instantiate(uint64_t graph, uint64_t flags, uint64_t* executable);
  int update(uint64_t executable, uint64_t graph);
  int launch(uint64_t executable, uint64_t stream);
  int clone_graph(uint64_t id, uint64_t* clone);
  int destroy_graph(uint64_t id);
  int destroy_executable(uint64_t id);
  int node_count(uint64_t graph, int64_t* count) const;
  // nullptr when there is none.
  const Graph* find_graph(uint64_t id) const;

  // Forgets streams, events, graphs and captures (device reset); ids are not used again.
  void reset();

 private:
  struct Stream {
    bool blocking = true;  // with respect to the legacy default stream
    WorkPtr last;
    int polls = 0;  // queries since there was work to wait for
    std::shared_ptr<Capture> capture;
    std::vector<int> captured;  // nodes that the stream's next node waits for
  };
  struct Event {
    bool timed = true;
    WorkPtr record;
    int polls = 0;
    std::shared_ptr<Capture> capture;  // recorded in a capture: a place in a graph, not in time
    std::vector<int> captured;
  };

  Stream* find_stream(uint64_t id);
  std::vector<WorkPtr> predecessors(uint64_t id);
  // Queues a task behind its stream's work, outside any capture.
  WorkPtr append(uint64_t stream, Task task);
  int refuse_legacy_use(uint64_t stream);
  // The stream for a call that must not be captured: one that comes during a capture ends it.
  int find_uncaptured(uint64_t id, Stream** stream);
  int run_or_report(int* polls, const std::vector<WorkPtr>& wanted, Progress* progress);
  int wait_in_capture(Stream& waiting, const Event& event);
  int launch_into_capture(const Graph& graph, Stream& into);

  Scheduler& scheduler_;
  std::map<uint64_t, Stream> streams_;
  std::map<uint64_t, Event> events_;
  std::map<uint64_t, Graph> graphs_;
  std::map<uint64_t, GraphExec> executables_;
  std::vector<WorkPtr>
      last_of_destroyed_;  // blocking streams that still had work: the legacy stream waits for it
  uint64_t next_id_ = 32;  // clear of the ids that name default streams
};

}  // namespace vgpu
