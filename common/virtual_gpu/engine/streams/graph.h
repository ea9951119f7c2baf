// CUDA graphs: what a capture collects, and what a launch puts back into the queue.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "streams/work.h"

namespace vgpu {

struct Graph {
  struct Node {
    std::shared_ptr<const Task> task;
    std::vector<int> after;  // indices of earlier nodes
  };
  std::vector<Node> nodes;

  int add(std::shared_ptr<const Task> task, std::vector<int> after);
  std::vector<int> leaves() const;  // nodes that nothing waits for
  // Same tasks by kind, same edges: what cudaGraphExecUpdate accepts.
  bool same_shape(const Graph& other) const;
  // What its allocation nodes allocate, and what its free nodes free.
  std::vector<std::shared_ptr<Reservation>> allocated() const;
  std::vector<std::shared_ptr<Reservation>> freed() const;
  // CUDA holds such graphs to further rules: one executable at a time, no update, no use inside others.
  bool has_memory() const;
  // What the body of a conditional node may hold: work of the device alone, in graphs of its own too.
  bool is_body() const;
};

struct GraphExec {
  Graph graph;
  uint64_t made_from = 0;    // id of a graph
  bool frees_first = false;  // what its last launch left allocated: cudaGraphInstantiateFlagAutoFreeOnLaunch
  WorkPtr last_launch;       // an executable graph never overlaps itself
};

// A capture in progress. Streams that joined it through an event share it.
struct Capture {
  enum class Mode : uint32_t { kGlobal, kThreadLocal, kRelaxed };
  uint64_t id = 0;
  uint64_t origin = 0;  // the stream it began on, and must end on
  Mode mode = Mode::kGlobal;
  bool invalid = false;
  bool ended = false;
  Graph graph;
};

}  // namespace vgpu
