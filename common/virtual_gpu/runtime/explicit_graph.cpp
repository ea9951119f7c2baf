#include "explicit_graph.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>

#include "capture.h"
#include "code_place.h"
#include "connection.h"
#include "copies.h"
#include "modules.h"
#include "pointers.h"

namespace vgpu {
namespace {

// Handles that the program holds.
struct Handles {
  std::mutex mutex;
  std::map<const void*, std::shared_ptr<ExplicitGraph>> graphs;
  std::set<const GraphNode*> nodes;  // of these graphs, their children and of executables
  std::map<cudaGraphExec_t, std::shared_ptr<ExplicitGraph>> executables;
};

Handles& handles() {
  static auto* const all = new Handles;
  return *all;
}

using Ends = std::vector<int32_t>;  // nodes of the engine's graph

void join(Ends& all, const Ends& more) {
  for (const int32_t node : more)
    if (std::find(all.begin(), all.end(), node) == all.end()) all.push_back(node);
}

// One graph being built on a stream of its own.
class Builder {
 public:
  cudaError_t build(const ExplicitGraph& graph, ExplicitGraph::Part part, uint64_t* engine_graph) {
    wire::Id id{};
    Connection& connection = Connection::get();
    cudaError_t error =
        connection.ask(wire::Request::kStreamCreate, wire::StreamCreate{cudaStreamNonBlocking, 0}, &id);
    if (error != cudaSuccess) return error;
    stream_ = id.id;
    cudaGraph_t made = nullptr;
    error = cudaStreamBeginCapture(handle(), cudaStreamCaptureModeRelaxed);
    if (error == cudaSuccess) {
      Ends ends, first;
      if (part == ExplicitGraph::Part::kWhole) error = assign(graph, &first);
      if (error == cudaSuccess) error = add(graph, first, &ends);
      Ends ignored;
      if (error == cudaSuccess) error = depend(all_, &ignored);
      const cudaError_t ended = cudaStreamEndCapture(handle(), &made);
      if (error == cudaSuccess) error = ended;
    }
    connection.ask(wire::Request::kStreamDestroy, wire::Id{stream_});
    *engine_graph = reinterpret_cast<uint64_t>(made);
    if (error != cudaSuccess && made != nullptr)
      connection.ask(wire::Request::kGraphDestroy, wire::Id{*engine_graph});
    return error;
  }

 private:
  cudaStream_t handle() const { return reinterpret_cast<cudaStream_t>(stream_); }

  cudaError_t depend(const Ends& ends, Ends* now, bool is_set = true) {
    const wire::CaptureDepend message{stream_, static_cast<uint32_t>(is_set ? ends.size() : 0), is_set};
    Bytes reply;
    const cudaError_t error = Connection::get().call(wire::Request::kCaptureDepend, &message, sizeof message,
                                                     ends.data(), message.count * sizeof(int32_t), &reply);
    now->resize(reply.size() / sizeof(int32_t));
    if (error == cudaSuccess && !reply.empty()) std::memcpy(now->data(), reply.data(), reply.size());
    return error;
  }

  // Conditions of the graph and of all inside it get their values first, one behind the other.
  cudaError_t assign(const ExplicitGraph& graph, Ends* last) {
    for (const uint64_t condition : graph.assigned) {
      const wire::CaptureConditional message{stream_, condition, wire::ConditionalKind::kAssignDefault, 0};
      cudaError_t error = Connection::get().ask(wire::Request::kCaptureConditional, message);
      if (error == cudaSuccess) error = depend({}, last, false);
      if (error != cudaSuccess) return error;
      all_ = *last;
    }
    for (const auto& node : graph.nodes)
      for (const auto& inside : graphs_of(node->work))
        if (const cudaError_t error = assign(*inside, last); error != cudaSuccess) return error;
    return cudaSuccess;
  }

  // The nodes of a graph behind `before`; `ends` are those that nothing in it waits for.
  cudaError_t add(const ExplicitGraph& graph, const Ends& before, Ends* ends) {
    const std::vector<GraphNode*> order = graph.in_order();
    if (order.size() != graph.nodes.size()) return cudaErrorInvalidValue;
    std::unordered_map<const GraphNode*, Ends> done;
    std::set<const GraphNode*> followed;
    for (const GraphNode* node : order) {
      Ends after = node->after.empty() ? before : Ends{};
      for (const GraphNode* earlier : node->after) {
        join(after, done[earlier]);
        followed.insert(earlier);
      }
      if (const cudaError_t error = add(*node, after, &done[node]); error != cudaSuccess) return error;
    }
    *ends = order.empty() ? before : Ends{};
    for (const GraphNode* node : order)
      if (followed.count(node) == 0) join(*ends, done[node]);
    return cudaSuccess;
  }

  cudaError_t add(const GraphNode& node, const Ends& after, Ends* ends) {
    *ends = after;
    if (std::holds_alternative<EmptyNode>(node.work)) return cudaSuccess;
    if (const auto* child = std::get_if<ChildNode>(&node.work)) return add(*child->graph, after, ends);
    if (const cudaError_t error = depend(after, ends); error != cudaSuccess) return error;
    const void* const caller = api_caller;
    const cudaError_t error = std::visit([this](const auto& work) { return record(work); }, node.work);
    api_caller = caller;
    if (error != cudaSuccess) return error;
    const cudaError_t asked = depend({}, ends, false);
    join(all_, *ends);
    return asked;
  }

  cudaError_t record(const EmptyNode&) { return cudaSuccess; }
  cudaError_t record(const ChildNode&) { return cudaSuccess; }

  cudaError_t record(const KernelNode& node) {
    const cudaKernelNodeParams& p = node.given;
    return cudaLaunchKernel(p.func, p.gridDim, p.blockDim, const_cast<void**>(node.pointers.data()),
                            p.sharedMemBytes, handle());
  }

  cudaError_t record(const cudaMemcpy3DParms& copy) { return copy_3d(&copy, stream_, Timing::kAsync); }

  cudaError_t record(const cudaMemsetParams& p) {
    if (p.width == 0 || p.height == 0) return cudaSuccess;
    wire::Memset message{};
    message.dst = reinterpret_cast<uint64_t>(p.dst);
    message.pitch = p.height > 1 ? p.pitch : p.width * p.elementSize;
    message.width = p.width;
    message.height = p.height;
    message.stream = stream_;
    message.value = p.value;
    message.element_bytes = p.elementSize;
    message.async = 1;
    return Connection::get().ask(wire::Request::kMemset, message);
  }

  cudaError_t record(const cudaHostNodeParams& p) { return cudaLaunchHostFunc(handle(), p.fn, p.userData); }

  cudaError_t record(const EventNode& node) {
    return Connection::get().ask(
        wire::Request::kCaptureEvent,
        wire::CaptureEvent{stream_, reinterpret_cast<uint64_t>(node.event), node.waits, 0});
  }

  cudaError_t record(const MemAllocNode& node) {
    return Connection::get().ask(wire::Request::kCaptureAllocate,
                                 wire::CaptureAllocate{stream_, *node.address});
  }

  cudaError_t record(const MemFreeNode& node) {
    return Connection::get().ask(wire::Request::kFree, wire::Free{reinterpret_cast<uint64_t>(node.address),
                                                                  wire::MemoryKind::kDevice, 1, stream_});
  }

  cudaError_t record(const CapturedNode& node) {
    return Connection::get().ask(wire::Request::kCaptureGraph, wire::GraphLaunch{*node.graph, stream_});
  }

  cudaError_t record(const ConditionalNode& node) {
    std::vector<uint64_t> bodies;
    cudaError_t error = cudaSuccess;
    for (const auto& body : node.bodies) {
      uint64_t made = 0;
      error = body->build(&made, ExplicitGraph::Part::kBody);
      if (error != cudaSuccess) break;
      bodies.push_back(made);
    }
    const wire::CaptureConditional message{stream_, node.given.handle,
                                           static_cast<wire::ConditionalKind>(node.given.type),
                                           static_cast<uint32_t>(bodies.size())};
    Bytes reply;
    if (error == cudaSuccess)
      error = Connection::get().call(wire::Request::kCaptureConditional, &message, sizeof message,
                                     bodies.data(), bodies.size() * sizeof(uint64_t), &reply);
    for (const uint64_t made : bodies) Connection::get().ask(wire::Request::kGraphDestroy, wire::Id{made});
    return error;
  }

  uint64_t stream_ = 0;
  Ends all_;
};

void enlist(const ExplicitGraph& graph, Handles& all, bool is_in) {
  for (const auto& node : graph.nodes) {
    if (is_in)
      all.nodes.insert(node.get());
    else
      all.nodes.erase(node.get());
    for (const auto& inside : graphs_of(node->work)) {
      enlist(*inside, all, is_in);
      if (is_in)
        all.graphs[inside.get()] = inside;
      else
        all.graphs.erase(inside.get());
    }
  }
}

}  // namespace

GraphNode* ExplicitGraph::add(NodeWork work, std::vector<GraphNode*> after) {
  nodes.push_back(std::make_unique<GraphNode>());
  GraphNode* const node = nodes.back().get();
  node->work = std::move(work);
  node->graph = this;
  node->after = std::move(after);
  Handles& all = handles();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.nodes.insert(node);
  for (const auto& inside : graphs_of(node->work)) {
    all.graphs[inside.get()] = inside;
    enlist(*inside, all, true);
  }
  return node;
}

void ExplicitGraph::remove(GraphNode* node) {
  {
    Handles& all = handles();
    const std::lock_guard<std::mutex> lock(all.mutex);
    all.nodes.erase(node);
  }
  for (const auto& other : nodes)
    other->after.erase(std::remove(other->after.begin(), other->after.end(), node), other->after.end());
  nodes.erase(std::find_if(nodes.begin(), nodes.end(), [&](const auto& own) { return own.get() == node; }));
}

bool ExplicitGraph::has(const GraphNode* node) const {
  return std::any_of(nodes.begin(), nodes.end(), [&](const auto& own) { return own.get() == node; });
}

std::shared_ptr<ExplicitGraph> ExplicitGraph::clone() const {
  auto copy = std::make_shared<ExplicitGraph>();
  copy->assigned = assigned;
  std::unordered_map<const GraphNode*, GraphNode*> copies;
  for (const auto& node : nodes) {
    auto made = std::make_unique<GraphNode>();
    made->work = node->work;
    if (auto* child = std::get_if<ChildNode>(&made->work)) child->graph = child->graph->clone();
    if (auto* condition = std::get_if<ConditionalNode>(&made->work))
      for (auto& body : condition->bodies) body = body->clone();
    made->graph = copy.get();
    made->cloned_from = node.get();
    copies[node.get()] = made.get();
    copy->nodes.push_back(std::move(made));
  }
  for (const auto& node : nodes)
    for (const GraphNode* before : node->after) copies[node.get()]->after.push_back(copies[before]);
  return copy;
}

std::vector<GraphNode*> ExplicitGraph::in_order() const {
  std::vector<GraphNode*> order;
  std::set<const GraphNode*> done;
  for (bool found = true; found;) {
    found = false;
    for (const auto& node : nodes) {
      const bool is_ready = done.count(node.get()) == 0 &&
                            std::all_of(node->after.begin(), node->after.end(),
                                        [&](const GraphNode* before) { return done.count(before) != 0; });
      if (!is_ready) continue;
      order.push_back(node.get());
      done.insert(node.get());
      found = true;
    }
  }
  return order.size() == nodes.size() ? order : std::vector<GraphNode*>{};
}

bool ExplicitGraph::has_memory() const {
  return std::any_of(nodes.begin(), nodes.end(), [](const auto& node) {
    return std::holds_alternative<MemAllocNode>(node->work) ||
           std::holds_alternative<MemFreeNode>(node->work);
  });
}

cudaError_t ExplicitGraph::build(uint64_t* engine_graph, Part part) const {
  return Builder().build(*this, part, engine_graph);
}

std::vector<std::shared_ptr<ExplicitGraph>> graphs_of(const NodeWork& work) {
  if (const auto* child = std::get_if<ChildNode>(&work)) return {child->graph};
  if (const auto* condition = std::get_if<ConditionalNode>(&work)) return condition->bodies;
  return {};
}

cudaGraphNodeType type_of(const NodeWork& work) {
  if (const auto* event = std::get_if<EventNode>(&work))
    return event->waits ? cudaGraphNodeTypeWaitEvent : cudaGraphNodeTypeEventRecord;
  constexpr cudaGraphNodeType kTypes[] = {
      cudaGraphNodeTypeEmpty,   cudaGraphNodeTypeKernel,     cudaGraphNodeTypeMemcpy,
      cudaGraphNodeTypeMemset,  cudaGraphNodeTypeHost,       cudaGraphNodeTypeEventRecord,
      cudaGraphNodeTypeGraph,   cudaGraphNodeTypeGraph,      cudaGraphNodeTypeMemAlloc,
      cudaGraphNodeTypeMemFree, cudaGraphNodeTypeConditional};
  return kTypes[work.index()];
}

namespace {

// Asks the engine whether such a launch could begin.
cudaError_t may_launch(const Function& function, const KernelNode& node) {
  Bytes parameters(static_cast<size_t>(function.info.param_bytes));
  for (size_t i = 0; i < node.values.size(); ++i)
    std::copy(node.values[i].begin(), node.values[i].end(),
              parameters.begin() + static_cast<std::ptrdiff_t>(function.parameters[i].offset));
  wire::Launch message{};
  message.function = function.info.id;
  const dim3 grid = node.given.gridDim, block = node.given.blockDim;
  std::copy_n(std::initializer_list<uint32_t>{grid.x, grid.y, grid.z}.begin(), 3, message.grid);
  std::copy_n(std::initializer_list<uint32_t>{block.x, block.y, block.z}.begin(), 3, message.block);
  message.dynamic_shared = node.given.sharedMemBytes;
  message.param_bytes = static_cast<uint32_t>(parameters.size());
  return Connection::get().call(wire::Request::kCheckNode, &message, sizeof message, parameters.data(),
                                parameters.size(), nullptr);
}

}  // namespace

cudaError_t make_kernel_node(const cudaKernelNodeParams& given, KernelNode* node) {
  Function* function = nullptr;
  if (const cudaError_t error = Registry::get().find(given.func, &function); error != cudaSuccess)
    return error;
  if (given.kernelParams == nullptr && !function->parameters.empty()) return cudaErrorInvalidValue;
  node->given = given;
  node->values.clear();
  for (size_t i = 0; i < function->parameters.size(); ++i) {
    const auto* bytes = static_cast<const uint8_t*>(given.kernelParams[i]);
    node->values.emplace_back(bytes, bytes + function->parameters[i].bytes);
  }
  node->point();
  return may_launch(*function, *node);
}

ExplicitGraph* find_explicit(cudaGraph_t graph) {
  return share_explicit(graph).get();
}

std::shared_ptr<ExplicitGraph> share_explicit(cudaGraph_t graph) {
  Handles& all = handles();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.graphs.find(graph);
  return found == all.graphs.end() ? nullptr : found->second;
}

GraphNode* find_node(cudaGraphNode_t node) {
  Handles& all = handles();
  const std::lock_guard<std::mutex> lock(all.mutex);
  auto* const known = reinterpret_cast<GraphNode*>(node);
  return all.nodes.count(known) != 0 ? known : nullptr;
}

cudaGraph_t keep_explicit(std::shared_ptr<ExplicitGraph> graph) {
  Handles& all = handles();
  const std::lock_guard<std::mutex> lock(all.mutex);
  enlist(*graph, all, true);
  auto* const handle = reinterpret_cast<cudaGraph_t>(graph.get());
  all.graphs[graph.get()] = std::move(graph);
  return handle;
}

bool drop_explicit(cudaGraph_t graph) {
  Handles& all = handles();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.graphs.find(graph);
  if (found == all.graphs.end()) return false;
  const std::shared_ptr<ExplicitGraph> dropped = found->second;
  all.graphs.erase(found);
  enlist(*dropped, all, false);
  return true;
}

void remember_executable(cudaGraphExec_t executable, std::shared_ptr<ExplicitGraph> graph) {
  Handles& all = handles();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.executables[executable] = std::move(graph);
}

std::shared_ptr<ExplicitGraph> graph_of(cudaGraphExec_t executable) {
  Handles& all = handles();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.executables.find(executable);
  return found == all.executables.end() ? nullptr : found->second;
}

void forget_executable(cudaGraphExec_t executable) {
  Handles& all = handles();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.executables.erase(executable);
}

}  // namespace vgpu
