#include "streams/scheduler.h"

#include <algorithm>
#include <queue>

namespace vgpu {
namespace {

// A program that never waits must not make the engine grow without end.
constexpr size_t kMaxPending = 4096;
constexpr uint64_t kMaxPendingBytes = 64ull << 20;

uint64_t held_bytes(const Work& work) {
  const auto* copy = std::get_if<CopyTask>(work.task.get());
  return copy == nullptr ? 0 : copy->packed.size();
}

}  // namespace

WorkPtr Scheduler::make(uint64_t stream, std::shared_ptr<const Task> task, std::vector<WorkPtr> after,
                        bool in_graph) {
  auto work = std::make_shared<Work>();
  work->id = next_id_++;
  work->stream = stream;
  work->in_graph = in_graph;
  work->on_device = uses_device(*task);
  work->task = std::move(task);
  work->after = std::move(after);
  work->not_before = host_clock_;
  return work;
}

void Scheduler::queue(const WorkPtr& work) {
  pending_bytes_ += held_bytes(*work);
  pending_.emplace_hint(pending_.end(), work->id, work);
}

Progress Scheduler::run_now(const WorkPtr& work) {
  const Progress progress = run_one(*work);
  if (progress.ok()) host_clock_ = std::max(host_clock_, work->finish);
  return progress;
}

std::map<uint64_t, WorkPtr> Scheduler::needed_for(const std::vector<WorkPtr>& wanted) const {
  std::map<uint64_t, WorkPtr> needed;
  std::vector<WorkPtr> open = wanted;
  while (!open.empty()) {
    const WorkPtr work = std::move(open.back());
    open.pop_back();
    if (work == nullptr || work->done || !needed.emplace(work->id, work).second) continue;
    open.insert(open.end(), work->after.begin(), work->after.end());
  }
  return needed;
}

Progress Scheduler::run(const std::vector<WorkPtr>& wanted) {
  const Progress progress = run_set(needed_for(wanted), Callbacks::kAsk);
  if (!progress.ok()) return progress;
  for (const WorkPtr& work : wanted)
    if (work != nullptr) host_clock_ = std::max(host_clock_, work->finish);
  return progress;
}

Progress Scheduler::run_all() {
  const std::map<uint64_t, WorkPtr> set = pending_;
  const Progress progress = run_set(set, Callbacks::kAsk);
  if (!progress.ok()) return progress;
  for (const auto& [id, work] : set) host_clock_ = std::max(host_clock_, work->finish);
  return progress;
}

Progress Scheduler::run_all_but_callbacks() {
  return run_set(std::map<uint64_t, WorkPtr>(pending_), Callbacks::kLeave);
}

Progress Scheduler::make_room() {
  while (pending_.size() >= kMaxPending || pending_bytes_ >= kMaxPendingBytes) {
    const WorkPtr oldest = pending_.begin()->second;
    const Progress progress = run_one(*oldest);
    if (!progress.ok()) return progress;
  }
  return {};
}

// `set` is closed: whatever a member waits for is a member or done.
Progress Scheduler::run_set(const std::map<uint64_t, WorkPtr>& set, Callbacks callbacks) {
  std::map<uint64_t, std::vector<Work*>> followers;
  std::map<uint64_t, size_t> missing;
  std::priority_queue<uint64_t> ready;  // the latest queued first
  for (const auto& [id, work] : set) {
    size_t waits = 0;
    for (const WorkPtr& before : work->after) {
      if (before->done) continue;
      followers[before->id].push_back(work.get());
      ++waits;
    }
    missing[id] = waits;
    if (waits == 0) ready.push(id);
  }
  Progress outcome;
  while (!ready.empty()) {
    Work& work = *set.at(ready.top());
    ready.pop();
    if (callbacks == Callbacks::kLeave && std::holds_alternative<HostTask>(*work.task)) {
      outcome.state = Progress::State::kCallback;
      continue;
    }
    const Progress progress = run_one(work);
    if (!progress.ok()) return progress;
    for (Work* follower : followers[work.id])
      if (--missing[follower->id] == 0) ready.push(follower->id);
  }
  return outcome;
}

Progress Scheduler::run_one(Work& work) {
  if (const auto* host = std::get_if<HostTask>(work.task.get())) {
    Progress progress;
    progress.state = Progress::State::kCallback;
    if (work.callback_token == 0) work.callback_token = next_token_++;
    progress.callback = {host->function, host->user_data, work.callback_token};
    return progress;
  }
  double seconds = 0;
  Progress progress;
  progress.error = runner_(work, &seconds);
  if (progress.error != 0) progress.state = Progress::State::kFailed;
  complete(work, seconds);
  return progress;
}

bool Scheduler::callback_done(uint64_t token) {
  if (token == 0) return false;
  for (const auto& [id, work] : pending_) {
    if (work->callback_token != token) continue;
    const WorkPtr kept = work;
    complete(*kept, 0);
    return true;
  }
  return false;
}

void Scheduler::complete(Work& work, double seconds) {
  double start = work.not_before;
  const Work* last = nullptr;
  for (const WorkPtr& before : work.after) {
    if (before->finish <= start) continue;
    start = before->finish;
    last = before.get();
  }
  const bool busy_before = last != nullptr && last->on_device;
  if (work.on_device) start += !busy_before ? costs_.first : work.in_graph ? costs_.in_graph : costs_.next;
  work.finish = start + seconds;
  work.done = true;
  if (pending_.erase(work.id) != 0) pending_bytes_ -= held_bytes(work);
  work.after.clear();
  work.task.reset();
}

void Scheduler::drop_all() {
  // Edges first, so that a long chain is not taken apart by recursion.
  for (const auto& [id, work] : pending_) work->after.clear();
  for (const auto& [id, work] : pending_) work->done = true;
  pending_.clear();
  pending_bytes_ = 0;
}

size_t Scheduler::pending_launches() const {
  return static_cast<size_t>(std::count_if(pending_.begin(), pending_.end(), [](const auto& entry) {
    return std::holds_alternative<LaunchTask>(*entry.second->task);
  }));
}

}  // namespace vgpu
