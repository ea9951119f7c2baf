#include "streams/graph.h"

#include <algorithm>

namespace vgpu {

int Graph::add(std::shared_ptr<const Task> task, std::vector<int> after) {
  nodes.push_back({std::move(task), std::move(after)});
  return static_cast<int>(nodes.size()) - 1;
}

std::vector<int> Graph::leaves() const {
  std::vector<bool> followed(nodes.size(), false);
  for (const Node& node : nodes)
    for (const int before : node.after) followed[static_cast<size_t>(before)] = true;
  std::vector<int> found;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (!followed[i]) found.push_back(static_cast<int>(i));
  return found;
}

bool Graph::same_shape(const Graph& other) const {
  return std::equal(
      nodes.begin(), nodes.end(), other.nodes.begin(), other.nodes.end(),
      [](const Node& a, const Node& b) { return a.task->index() == b.task->index() && a.after == b.after; });
}

namespace {

// What this kind of node is about, where it is memory of a graph.
template <class OfMemory>
std::vector<std::shared_ptr<Reservation>> reservations(const std::vector<Graph::Node>& nodes) {
  std::vector<std::shared_ptr<Reservation>> found;
  for (const Graph::Node& node : nodes)
    if (const auto* task = std::get_if<OfMemory>(node.task.get())) found.push_back(task->reservation);
  return found;
}

}  // namespace

std::vector<std::shared_ptr<Reservation>> Graph::allocated() const {
  return reservations<AllocateTask>(nodes);
}

std::vector<std::shared_ptr<Reservation>> Graph::freed() const {
  return reservations<FreeTask>(nodes);
}

bool Graph::has_memory() const {
  return !allocated().empty() || !freed().empty();
}

bool Graph::is_body() const {
  return std::all_of(nodes.begin(), nodes.end(), [](const Node& node) {
    return uses_device(*node.task) || std::holds_alternative<MarkerTask>(*node.task) ||
           std::holds_alternative<ConditionalTask>(*node.task);
  });
}

}  // namespace vgpu
