#include "streams/streams.h"

#include <algorithm>

#include "cuda_error.h"

namespace vgpu {
namespace {

constexpr uint32_t kNonBlockingFlag = 1;    // cudaStreamNonBlocking
constexpr uint32_t kDisableTimingFlag = 2;  // cudaEventDisableTiming

// A query says "not ready" this often before the work is done: programs that poll make progress, and
// programs that ask once do not take lazy work for finished.
constexpr int kPollsBeforeRunning = 2;

}  // namespace

Streams::Streams(Scheduler& scheduler) : scheduler_(scheduler) {
  reset();
}

void Streams::reset() {
  streams_.clear();
  events_.clear();
  graphs_.clear();
  executables_.clear();
  last_of_destroyed_.clear();
  streams_[wire::kLegacyStream];
  streams_[wire::kPerThreadStream];
}

Streams::Stream* Streams::find_stream(uint64_t id) {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : &found->second;
}

bool Streams::is_capturing(uint64_t id) const {
  const auto found = streams_.find(id);
  return found != streams_.end() && found->second.capture != nullptr;
}

uint64_t Streams::create_stream(uint32_t flags) {
  const uint64_t id = next_id_++;
  streams_[id].blocking = (flags & kNonBlockingFlag) == 0;
  return id;
}

int Streams::destroy_stream(uint64_t id) {
  Stream* stream = find_stream(id);
  if (stream == nullptr || id == wire::kLegacyStream || id == wire::kPerThreadStream)
    return cuda::kInvalidResourceHandle;
  // A stream that was drawn into a capture may go before it ends; its nodes stay.
  if (stream->capture != nullptr && stream->capture->origin == id) stream->capture->invalid = true;
  if (stream->blocking && stream->last != nullptr && !stream->last->done)
    last_of_destroyed_.push_back(stream->last);
  streams_.erase(id);
  return cuda::kSuccess;
}

std::vector<WorkPtr> Streams::predecessors(uint64_t id) {
  std::vector<WorkPtr> before;
  const auto add = [&](const WorkPtr& work) {
    if (work != nullptr) before.push_back(work);
  };
  const Stream& stream = streams_[id];
  add(stream.last);
  if (id == wire::kLegacyStream) {
    for (const auto& [other, state] : streams_)
      if (other != id && state.blocking) add(state.last);
    std::erase_if(last_of_destroyed_, [](const WorkPtr& work) { return work->done; });
    before.insert(before.end(), last_of_destroyed_.begin(), last_of_destroyed_.end());
  } else if (stream.blocking) {
    add(streams_[wire::kLegacyStream].last);
  }
  return before;
}

WorkPtr Streams::append(uint64_t stream, Task task) {
  WorkPtr work = scheduler_.make(stream, std::make_shared<const Task>(std::move(task)), predecessors(stream));
  scheduler_.queue(work);
  streams_[stream].last = work;
  return work;
}

// Work in the legacy stream would wait for the capturing stream, whose work does not exist yet.
int Streams::refuse_legacy_use(uint64_t id) {
  if (id != wire::kLegacyStream) return cuda::kSuccess;
  int error = cuda::kSuccess;
  for (const auto& [other, stream] : streams_) {
    if (stream.capture == nullptr || !stream.blocking) continue;
    stream.capture->invalid = true;
    error = cuda::kStreamCaptureImplicit;
  }
  return error;
}

int Streams::find_uncaptured(uint64_t id, Stream** stream) {
  *stream = find_stream(id);
  if (*stream == nullptr) return cuda::kInvalidResourceHandle;
  if ((*stream)->capture != nullptr) {
    (*stream)->capture->invalid = true;
    return cuda::kStreamCaptureUnsupported;
  }
  return refuse_legacy_use(id);
}

int Streams::submit(uint64_t id, Task task) {
  Stream* stream = find_stream(id);
  if (stream == nullptr) return cuda::kInvalidResourceHandle;
  if (stream->capture != nullptr) {
    if (stream->capture->invalid) return cuda::kStreamCaptureInvalidated;
    const int node =
        stream->capture->graph.add(std::make_shared<const Task>(std::move(task)), stream->captured);
    stream->captured = {node};
    return cuda::kSuccess;
  }
  if (const int error = refuse_legacy_use(id)) return error;
  append(id, std::move(task));
  return cuda::kSuccess;
}

int Streams::bound_call(uint64_t id, bool begins) {
  if (!has_stream(id)) return cuda::kInvalidResourceHandle;
  append(id, CallBoundTask{begins});
  return cuda::kSuccess;
}

int Streams::submit_and_run(uint64_t id, Task task, Progress* progress) {
  Stream* stream;
  if (const int error = find_uncaptured(id, &stream)) return error;
  const std::vector<WorkPtr> before = predecessors(id);
  *progress = scheduler_.run(before);
  if (!progress->ok()) return cuda::kSuccess;
  const WorkPtr work = scheduler_.make(id, std::make_shared<const Task>(std::move(task)), before);
  *progress = scheduler_.run_now(work);
  if (progress->ok()) stream->last = work;
  return cuda::kSuccess;
}

int Streams::sync_stream(uint64_t id, Progress* progress) {
  Stream* stream;
  if (const int error = find_uncaptured(id, &stream)) return error;
  // Synchronising the legacy stream waits for what its next work would wait for.
  *progress =
      scheduler_.run(id == wire::kLegacyStream ? predecessors(id) : std::vector<WorkPtr>{stream->last});
  return cuda::kSuccess;
}

int Streams::query_stream(uint64_t id, Progress* progress) {
  Stream* stream;
  if (const int error = find_uncaptured(id, &stream)) return error;
  return run_or_report(&stream->polls,
                       id == wire::kLegacyStream ? predecessors(id) : std::vector<WorkPtr>{stream->last},
                       progress);
}

int Streams::run_or_report(int* polls, const std::vector<WorkPtr>& wanted, Progress* progress) {
  const bool done =
      std::all_of(wanted.begin(), wanted.end(), [](const WorkPtr& w) { return w == nullptr || w->done; });
  if (!done && (*polls)++ < kPollsBeforeRunning) return cuda::kNotReady;
  *progress = scheduler_.run(wanted);
  if (progress->ok()) *polls = 0;
  return cuda::kSuccess;
}

int Streams::sync_device(Progress* progress) {
  if (const int error = refuse_during_capture()) return error;
  *progress = scheduler_.run_all();
  return cuda::kSuccess;
}

int Streams::stream_wait(uint64_t id, uint64_t event_id) {
  Stream* stream = find_stream(id);
  const auto event = events_.find(event_id);
  if (stream == nullptr || event == events_.end()) return cuda::kInvalidResourceHandle;
  if (event->second.capture != nullptr) return wait_in_capture(*stream, event->second);
  if (stream->capture != nullptr) {
    if (event->second.record == nullptr) return cuda::kSuccess;
    // An event from outside the capture cannot be a node of its graph.
    stream->capture->invalid = true;
    return cuda::kStreamCaptureIsolation;
  }
  if (event->second.record == nullptr) return cuda::kSuccess;
  if (const int error = refuse_legacy_use(id)) return error;
  append(id, MarkerTask{})->after.push_back(event->second.record);
  return cuda::kSuccess;
}

uint64_t Streams::create_event(uint32_t flags) {
  const uint64_t id = next_id_++;
  events_[id].timed = (flags & kDisableTimingFlag) == 0;
  return id;
}

int Streams::destroy_event(uint64_t id) {
  return events_.erase(id) != 0 ? cuda::kSuccess : cuda::kInvalidResourceHandle;
}

int Streams::record_event(uint64_t event_id, uint64_t id) {
  Stream* stream = find_stream(id);
  const auto found = events_.find(event_id);
  if (stream == nullptr || found == events_.end()) return cuda::kInvalidResourceHandle;
  Event& event = found->second;
  if (stream->capture != nullptr) {
    if (stream->capture->invalid) return cuda::kStreamCaptureInvalidated;
    event.capture = stream->capture;
    event.captured = stream->captured;
    event.record = nullptr;
    return cuda::kSuccess;
  }
  if (const int error = refuse_legacy_use(id)) return error;
  event.capture = nullptr;
  event.captured.clear();
  event.polls = 0;
  event.record = append(id, MarkerTask{});
  return cuda::kSuccess;
}

int Streams::sync_event(uint64_t id, Progress* progress) {
  const auto found = events_.find(id);
  if (found == events_.end()) return cuda::kInvalidResourceHandle;
  if (found->second.capture != nullptr) return cuda::kCapturedEvent;
  *progress = scheduler_.run({found->second.record});
  return cuda::kSuccess;
}

int Streams::query_event(uint64_t id, Progress* progress) {
  const auto found = events_.find(id);
  if (found == events_.end()) return cuda::kInvalidResourceHandle;
  if (found->second.capture != nullptr) return cuda::kCapturedEvent;
  return run_or_report(&found->second.polls, {found->second.record}, progress);
}

int Streams::elapsed(uint64_t start_id, uint64_t end_id, float* milliseconds) const {
  const auto start = events_.find(start_id), end = events_.find(end_id);
  if (start == events_.end() || end == events_.end()) return cuda::kInvalidResourceHandle;
  for (const Event* event : {&start->second, &end->second}) {
    if (event->capture != nullptr) return cuda::kCapturedEvent;
    if (!event->timed || event->record == nullptr) return cuda::kInvalidResourceHandle;
  }
  if (!start->second.record->done || !end->second.record->done) return cuda::kNotReady;
  *milliseconds = static_cast<float>((end->second.record->finish - start->second.record->finish) * 1e3);
  return cuda::kSuccess;
}

}  // namespace vgpu
