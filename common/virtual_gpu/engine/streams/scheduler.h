// The queue of everything that has been asked for and not yet done.
//
// Work runs lazily: only when something waits for it, and then only what that wait needs. Order is held as
// edges (`Work::after`); among work that the edges leave free, the one queued LAST runs first. That is the
// order a program must not rely on: a consumer queued after its producer, on another stream and without a
// join, runs before it and reads stale data; a buffer overwritten too early is overwritten before it is
// read. The choice depends on the order of calls alone, so every run of a program shows the same thing.
#pragma once

#include <functional>
#include <map>

#include "protocol.h"
#include "streams/work.h"

namespace vgpu {

// How far a wait got.
struct Progress {
  enum class State { kDone, kCallback, kFailed };
  State state = State::kDone;
  int error = 0;  // kFailed: the sticky cudaError_t
  // kCallback: the program must run this and ask again. Two waits may get the same one; the token says
  // so.
  wire::HostCallback callback{};
  bool ok() const { return state == State::kDone; }
};

class Scheduler {
 public:
  // Does one task: 0 or a sticky error; sets how long it takes on the modelled device.
  using Runner = std::function<int(const Work& work, double* seconds)>;
  // What launching costs before the task itself begins, in seconds.
  struct LaunchCosts {
    double first = 0;     // after a pause, an event or another stream's work
    double next = 0;      // right behind other device work
    double in_graph = 0;  // the same inside a graph
  };

  Scheduler(Runner runner, LaunchCosts costs) : runner_(std::move(runner)), costs_(costs) {}

  WorkPtr make(uint64_t stream, std::shared_ptr<const Task> task, std::vector<WorkPtr> after,
               bool in_graph = false);
  void queue(const WorkPtr& work);
  // Runs work that is not queued and whose predecessors are all done.
  Progress run_now(const WorkPtr& work);

  Progress run(const std::vector<WorkPtr>& wanted);  // these and all they need
  Progress run_all();
  // As run_all(), when there is no call of the program's to answer: leaves callbacks, and what waits for
  // them, where they are (the state is then kCallback).
  Progress run_all_but_callbacks();
  // Keeps the queue short: runs the oldest work, which never waits for anything, until there is room.
  Progress make_room();
  // True when the token is that of a callback the program was asked to run.
  bool callback_done(uint64_t token);

  // Forgets everything queued: after a sticky error, or when the program is gone.
  void drop_all();
  size_t pending() const { return pending_.size(); }
  size_t pending_launches() const;

 private:
  std::map<uint64_t, WorkPtr> needed_for(const std::vector<WorkPtr>& wanted) const;
  enum class Callbacks { kAsk, kLeave };
  Progress run_set(const std::map<uint64_t, WorkPtr>& set, Callbacks callbacks);
  Progress run_one(Work& work);
  void complete(Work& work, double seconds);

  Runner runner_;
  LaunchCosts costs_;
  std::map<uint64_t, WorkPtr> pending_;
  uint64_t pending_bytes_ = 0;
  uint64_t next_id_ = 1, next_token_ = 1;
  double host_clock_ = 0;  // modelled: the finish of the latest work that the host has waited for
};

}  // namespace vgpu
