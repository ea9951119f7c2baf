// Captures and graphs: the half of Streams that builds and launches graphs.
#include <algorithm>

#include "cuda_error.h"
#include "streams/streams.h"

namespace vgpu {

int Streams::refuse_during_capture() {
  int error = cuda::kSuccess;
  for (auto& [id, stream] : streams_) {
    if (stream.capture == nullptr || stream.capture->mode == Capture::Mode::kRelaxed) continue;
    stream.capture->invalid = true;
    error = cuda::kStreamCaptureUnsupported;
  }
  return error;
}

void Streams::invalidate_capture(uint64_t id) {
  Stream* stream = find_stream(id);
  if (stream != nullptr && stream->capture != nullptr) stream->capture->invalid = true;
}

int Streams::begin_capture(uint64_t id, uint32_t mode) {
  Stream* stream = find_stream(id);
  if (stream == nullptr) return cuda::kInvalidResourceHandle;
  if (mode > static_cast<uint32_t>(Capture::Mode::kRelaxed)) return cuda::kInvalidValue;
  if (id == wire::kLegacyStream) return cuda::kStreamCaptureUnsupported;
  if (stream->capture != nullptr) return cuda::kIllegalState;
  stream->capture = std::make_shared<Capture>();
  stream->capture->id = next_id_++;
  stream->capture->origin = id;
  stream->capture->mode = static_cast<Capture::Mode>(mode);
  stream->captured.clear();
  return cuda::kSuccess;
}

int Streams::end_capture(uint64_t id, uint64_t* graph) {
  Stream* origin = find_stream(id);
  if (origin == nullptr) return cuda::kInvalidResourceHandle;
  if (origin->capture == nullptr) return cuda::kIllegalState;
  const std::shared_ptr<Capture> capture = origin->capture;
  if (capture->origin != id) {
    capture->invalid = true;
    return cuda::kStreamCaptureUnmatched;
  }
  const std::vector<int> joined = origin->captured;
  for (auto& [other, stream] : streams_) {
    if (stream.capture != capture) continue;
    stream.capture = nullptr;
    stream.captured.clear();
  }
  capture->ended = true;
  if (capture->invalid) return cuda::kStreamCaptureInvalidated;
  for (const int leaf : capture->graph.leaves())
    if (std::find(joined.begin(), joined.end(), leaf) == joined.end()) return cuda::kStreamCaptureUnjoined;
  *graph = next_id_++;
  graphs_[*graph] = std::move(capture->graph);
  return cuda::kSuccess;
}

int Streams::capture_state(uint64_t id, CaptureState* state) const {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return cuda::kInvalidResourceHandle;
  const Capture* capture = found->second.capture.get();
  if (capture == nullptr) return cuda::kSuccess;
  state->status = capture->invalid ? 2 : 1;  // cudaStreamCaptureStatusInvalidated, …Active
  state->id = capture->id;
  return cuda::kSuccess;
}

int Streams::capture_dependencies(uint64_t id, std::vector<int>* nodes) {
  const Stream* stream = find_stream(id);
  if (stream == nullptr || stream->capture == nullptr) return cuda::kIllegalState;
  *nodes = stream->captured;
  return cuda::kSuccess;
}

int Streams::set_capture_dependencies(uint64_t id, const std::vector<int>& nodes) {
  Stream* stream = find_stream(id);
  if (stream == nullptr || stream->capture == nullptr) return cuda::kIllegalState;
  if (stream->capture->origin != id) return cuda::kNotPermitted;  // another's capture
  const int count = static_cast<int>(stream->capture->graph.nodes.size());
  if (std::any_of(nodes.begin(), nodes.end(), [&](int node) { return node < 0 || node >= count; }))
    return cuda::kInvalidValue;
  stream->captured = nodes;
  return cuda::kSuccess;
}

int Streams::capture_event(uint64_t id, uint64_t event, bool waits) {
  if (events_.count(event) == 0) return cuda::kInvalidResourceHandle;
  if (!is_capturing(id)) return cuda::kIllegalState;
  return submit(id, EventTask{event, waits});
}

int Streams::capture_graph(uint64_t id, uint64_t graph) {
  Stream* stream = find_stream(id);
  const auto found = graphs_.find(graph);
  if (found == graphs_.end()) return cuda::kInvalidValue;
  if (stream == nullptr || stream->capture == nullptr) return cuda::kIllegalState;
  return launch_into_capture(found->second, *stream);
}

int Streams::capture_conditional(uint64_t id, uint64_t condition, wire::ConditionalKind kind,
                                 const std::vector<uint64_t>& bodies) {
  if (!is_capturing(id)) return cuda::kIllegalState;
  ConditionalTask task{condition, kind, {}};
  for (const uint64_t body : bodies) {
    const auto found = graphs_.find(body);
    if (found == graphs_.end() || !found->second.is_body()) return cuda::kInvalidValue;
    task.bodies.push_back(std::make_shared<const Graph>(found->second));
  }
  return submit(id, std::move(task));
}

bool Streams::frees_in_capture(uint64_t id, uint64_t address) const {
  const auto found = streams_.find(id);
  if (found == streams_.end() || found->second.capture == nullptr) return false;
  const auto freed = found->second.capture->graph.freed();
  return std::any_of(freed.begin(), freed.end(), [&](const auto& r) { return r->base == address; });
}

// Waiting for an event of a capture draws the waiting stream into that capture.
int Streams::wait_in_capture(Stream& waiting, const Event& event) {
  if (event.capture->ended) return cuda::kInvalidValue;
  if (event.capture->invalid) return cuda::kStreamCaptureInvalidated;
  if (&waiting == &streams_[wire::kLegacyStream]) {
    event.capture->invalid = true;
    return cuda::kStreamCaptureImplicit;
  }
  if (waiting.capture == nullptr) {
    waiting.capture = event.capture;
    waiting.captured.clear();
  }
  if (waiting.capture != event.capture) {
    waiting.capture->invalid = true;
    event.capture->invalid = true;
    return cuda::kStreamCaptureMerge;
  }
  for (const int node : event.captured)
    if (std::find(waiting.captured.begin(), waiting.captured.end(), node) == waiting.captured.end())
      waiting.captured.push_back(node);
  return cuda::kSuccess;
}

namespace {

using Reservations = std::vector<std::shared_ptr<Reservation>>;

bool share(const Reservations& some, const Reservations& others) {
  return std::any_of(some.begin(), some.end(), [&](const auto& one) {
    return std::find(others.begin(), others.end(), one) != others.end();
  });
}

}  // namespace

int Streams::instantiate(uint64_t graph, uint64_t flags, uint64_t* executable) {
  constexpr uint64_t kAutoFreeOnLaunch = 1;
  const auto found = graphs_.find(graph);
  if (found == graphs_.end()) return cuda::kInvalidValue;
  const auto of_same = [&](const auto& other) {
    return other.second.made_from == graph ||
           share(other.second.graph.allocated(), found->second.allocated());
  };
  if (found->second.has_memory() && std::any_of(executables_.begin(), executables_.end(), of_same))
    return cuda::kInvalidValue;  // CUDA promises an error, and does not say which
  *executable = next_id_++;
  GraphExec& made = executables_[*executable];
  made.graph = found->second;
  made.made_from = graph;
  made.frees_first = (flags & kAutoFreeOnLaunch) != 0;
  return cuda::kSuccess;
}

int Streams::update(uint64_t executable, uint64_t graph) {
  const auto exec = executables_.find(executable);
  const auto found = graphs_.find(graph);
  if (exec == executables_.end() || found == graphs_.end()) return cuda::kInvalidValue;
  if (exec->second.graph.has_memory() || !exec->second.graph.same_shape(found->second))
    return cuda::kGraphExecUpdateFailure;
  exec->second.graph = found->second;
  return cuda::kSuccess;
}

// A graph launched inside a capture becomes part of the graph being captured.
int Streams::launch_into_capture(const Graph& graph, Stream& into) {
  if (graph.has_memory()) {
    into.capture->invalid = true;
    return cuda::kStreamCaptureUnsupported;
  }
  Graph& target = into.capture->graph;
  const int offset = static_cast<int>(target.nodes.size());
  for (const Graph::Node& node : graph.nodes) {
    std::vector<int> after = node.after.empty() ? into.captured : node.after;
    if (!node.after.empty())
      for (int& before : after) before += offset;
    target.add(node.task, std::move(after));
  }
  if (graph.nodes.empty()) return cuda::kSuccess;
  into.captured = graph.leaves();
  for (int& leaf : into.captured) leaf += offset;
  return cuda::kSuccess;
}

namespace {

// Memory that a launch allocates must not be there already, unless it is to be freed first; memory that it
// frees must be there, or be its own.
bool may_launch(const GraphExec& exec) {
  const auto allocated = exec.graph.allocated(), freed = exec.graph.freed();
  const auto is_there = [](const auto& r) { return r->allocated; };
  if (!exec.frees_first && std::any_of(allocated.begin(), allocated.end(), is_there)) return false;
  return std::all_of(freed.begin(), freed.end(), [&](const auto& r) {
    return r->allocated || std::find(allocated.begin(), allocated.end(), r) != allocated.end();
  });
}

}  // namespace

int Streams::launch(uint64_t executable, uint64_t id) {
  const auto found = executables_.find(executable);
  Stream* stream = find_stream(id);
  if (found == executables_.end()) return cuda::kInvalidValue;
  if (stream == nullptr) return cuda::kInvalidResourceHandle;
  GraphExec& exec = found->second;
  if (stream->capture != nullptr) {
    if (stream->capture->invalid) return cuda::kStreamCaptureInvalidated;
    return launch_into_capture(exec.graph, *stream);
  }
  if (const int error = refuse_legacy_use(id)) return error;
  if (!may_launch(exec)) return cuda::kInvalidValue;

  std::vector<WorkPtr> before = predecessors(id);
  if (exec.last_launch != nullptr) before.push_back(exec.last_launch);
  for (const auto& left : exec.graph.allocated()) {
    if (!left->allocated) continue;
    const FreeTask free{left->base, left->reserved_by, left, "the next launch of its graph"};
    const WorkPtr work = scheduler_.make(id, std::make_shared<const Task>(free), std::move(before));
    scheduler_.queue(work);
    before = {work};
  }
  for (const auto& reservation : exec.graph.allocated()) reservation->allocated = true;
  for (const auto& reservation : exec.graph.freed()) reservation->allocated = false;
  std::vector<WorkPtr> made;
  for (const Graph::Node& node : exec.graph.nodes) {
    std::vector<WorkPtr> after = node.after.empty() ? before : std::vector<WorkPtr>{};
    for (const int i : node.after) after.push_back(made[static_cast<size_t>(i)]);
    const auto* of_event = std::get_if<EventTask>(node.task.get());
    const auto event = of_event != nullptr ? events_.find(of_event->event) : events_.end();
    if (event != events_.end() && of_event->waits && event->second.record != nullptr)
      after.push_back(event->second.record);
    made.push_back(scheduler_.make(id, node.task, std::move(after), true));
    scheduler_.queue(made.back());
    if (event != events_.end() && !of_event->waits) {
      event->second.record = made.back();
      event->second.polls = 0;
      event->second.capture = nullptr;
    }
  }
  std::vector<WorkPtr> ends = made.empty() ? before : std::vector<WorkPtr>{};
  for (const int leaf : exec.graph.leaves()) ends.push_back(made[static_cast<size_t>(leaf)]);
  const WorkPtr end = scheduler_.make(id, std::make_shared<const Task>(MarkerTask{}), std::move(ends));
  scheduler_.queue(end);
  stream->last = end;
  exec.last_launch = end;
  return cuda::kSuccess;
}

int Streams::clone_graph(uint64_t id, uint64_t* clone) {
  const auto found = graphs_.find(id);
  if (found == graphs_.end()) return cuda::kInvalidValue;
  if (found->second.has_memory()) return cuda::kNotSupported;
  *clone = next_id_++;
  graphs_[*clone] = Graph(found->second);
  return cuda::kSuccess;
}

int Streams::destroy_graph(uint64_t id) {
  return graphs_.erase(id) != 0 ? cuda::kSuccess : cuda::kInvalidValue;
}

int Streams::destroy_executable(uint64_t id) {
  return executables_.erase(id) != 0 ? cuda::kSuccess : cuda::kInvalidValue;
}

const Graph* Streams::find_graph(uint64_t id) const {
  const auto found = graphs_.find(id);
  return found == graphs_.end() ? nullptr : &found->second;
}

int Streams::node_count(uint64_t graph, int64_t* count) const {
  const auto found = graphs_.find(graph);
  if (found == graphs_.end()) return cuda::kInvalidValue;
  *count = static_cast<int64_t>(found->second.nodes.size());
  return cuda::kSuccess;
}

}  // namespace vgpu
