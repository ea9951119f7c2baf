// Functions on the nodes of graphs that a program builds itself.
#include <algorithm>

#include "api.h"
#include "connection.h"
#include "explicit_graph.h"
#include "modules.h"

namespace {

using vgpu::add_node;
using vgpu::ChildNode;
using vgpu::EventNode;
using vgpu::ExplicitGraph;
using vgpu::find_explicit;
using vgpu::find_node;
using vgpu::GraphNode;
using vgpu::handle_of;
using vgpu::KernelNode;
using vgpu::NodeWork;
namespace wire = vgpu::wire;

bool take_dependencies(const ExplicitGraph& graph, const cudaGraphNode_t* given, size_t count,
                       std::vector<GraphNode*>* after) {
  if (count > 0 && given == nullptr) return false;
  for (size_t i = 0; i < count; ++i) {
    GraphNode* const node = find_node(given[i]);
    if (node == nullptr || !graph.has(node)) return false;
    if (std::find(after->begin(), after->end(), node) == after->end()) after->push_back(node);
  }
  return true;
}

// What a node does, from what the program gave: a copy of a kernel's arguments, otherwise as it is.
cudaError_t work_of(const cudaKernelNodeParams* given, NodeWork* work) {
  if (given == nullptr) return cudaErrorInvalidValue;
  KernelNode node;
  const cudaError_t error = vgpu::make_kernel_node(*given, &node);
  *work = std::move(node);
  return error;
}

cudaError_t work_of(const cudaMemcpy3DParms* given, NodeWork* work) {
  if (given == nullptr) return cudaErrorInvalidValue;
  *work = *given;
  return cudaSuccess;
}

cudaError_t work_of(const cudaMemsetParams* given, NodeWork* work) {
  if (given == nullptr || given->dst == nullptr) return cudaErrorInvalidValue;
  if (given->elementSize != 1 && given->elementSize != 2 && given->elementSize != 4)
    return cudaErrorInvalidValue;
  *work = *given;
  return cudaSuccess;
}

cudaError_t work_of(const cudaHostNodeParams* given, NodeWork* work) {
  if (given == nullptr || given->fn == nullptr) return cudaErrorInvalidValue;
  *work = *given;
  return cudaSuccess;
}

cudaError_t work_of(const cudaGraphNodeParams* given, NodeWork* work);  // of any kind
cudaError_t work_of(cudaGraph_t graph, NodeWork* work);
cudaError_t work_of(const cudaMemAllocNodeParams* given, NodeWork* work);

template <class Given>
cudaError_t add_given(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                      size_t count, Given given) {
  NodeWork work;
  const cudaError_t error = work_of(given, &work);
  return error != cudaSuccess ? error : add_node(out, graph, dependencies, count, std::move(work));
}

cudaError_t set_work(cudaGraphNode_t handle, NodeWork work) {
  GraphNode* const node = find_node(handle);
  if (node == nullptr || node->work.index() != work.index()) return cudaErrorInvalidValue;
  node->work = std::move(work);
  return cudaSuccess;
}

template <class Given>
cudaError_t set_given(cudaGraphNode_t node, Given given) {
  NodeWork work;
  const cudaError_t error = work_of(given, &work);
  return error != cudaSuccess ? error : set_work(node, std::move(work));
}

// An executable graph keeps a copy of what it was made from; a change of a node makes it anew.
cudaError_t set_in_executable(cudaGraphExec_t executable, cudaGraphNode_t handle, NodeWork work) {
  const std::shared_ptr<ExplicitGraph> graph = vgpu::graph_of(executable);
  if (graph == nullptr) return cudaErrorInvalidValue;
  const auto node = std::find_if(graph->nodes.begin(), graph->nodes.end(),
                                 [&](const auto& own) { return handle_of(own->cloned_from) == handle; });
  if (node == graph->nodes.end() || (*node)->work.index() != work.index()) return cudaErrorInvalidValue;
  NodeWork before = (*node)->work;
  (*node)->work = std::move(work);
  wire::Id made{};
  cudaError_t error = graph->build(&made.id);
  if (error == cudaSuccess) {
    error =
        vgpu::Connection::get().ask(wire::Request::kGraphExecUpdate,
                                    wire::GraphExecUpdate{reinterpret_cast<uint64_t>(executable), made.id});
    vgpu::Connection::get().ask(wire::Request::kGraphDestroy, made);
  }
  if (error != cudaSuccess) (*node)->work = std::move(before);
  return error;
}

template <class Given>
cudaError_t set_given_in_executable(cudaGraphExec_t executable, cudaGraphNode_t node, Given given) {
  NodeWork work;
  const cudaError_t error = work_of(given, &work);
  return error != cudaSuccess ? error : set_in_executable(executable, node, std::move(work));
}

template <class Given>
cudaError_t get_given(cudaGraphNode_t handle, Given* out) {
  const GraphNode* const node = find_node(handle);
  const Given* const given = node != nullptr ? std::get_if<Given>(&node->work) : nullptr;
  if (given == nullptr || out == nullptr) return cudaErrorInvalidValue;
  *out = *given;
  return cudaSuccess;
}

cudaError_t get_given(cudaGraphNode_t handle, cudaKernelNodeParams* out) {
  const GraphNode* const node = find_node(handle);
  const KernelNode* const kernel = node != nullptr ? std::get_if<KernelNode>(&node->work) : nullptr;
  if (kernel == nullptr || out == nullptr) return cudaErrorInvalidValue;
  *out = kernel->given;
  return cudaSuccess;
}

cudaError_t get_event(cudaGraphNode_t node, bool waits, cudaEvent_t* event) {
  EventNode known{};
  if (event == nullptr || get_given(node, &known) != cudaSuccess || known.waits != waits)
    return cudaErrorInvalidValue;
  *event = known.event;
  return cudaSuccess;
}

cudaMemcpy3DParms one_row(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind) {
  cudaMemcpy3DParms copy{};
  copy.srcPtr = {const_cast<void*>(src), bytes, bytes, 1};
  copy.dstPtr = {dst, bytes, bytes, 1};
  copy.extent = {bytes, 1, 1};
  copy.kind = kind;
  return copy;
}

cudaError_t in_symbol(const void* symbol, size_t offset, size_t bytes, void** address) {
  vgpu::Variable* variable = nullptr;
  const cudaError_t error = vgpu::Registry::get().find_variable(symbol, &variable);
  if (error != cudaSuccess) return error;
  if (offset > variable->where.bytes || bytes > variable->where.bytes - offset) return cudaErrorInvalidValue;
  *address = reinterpret_cast<void*>(variable->where.address + offset);
  return cudaSuccess;
}

cudaError_t refuse_kind() {
  static bool warned = false;
  return static_cast<cudaError_t>(vgpu::not_supported("a node of a graph of this kind", &warned));
}

// Another graph as a node, as it is now. CUDA takes none that allocates or frees memory.
cudaError_t work_of(cudaGraph_t graph, NodeWork* work) {
  const ExplicitGraph* const child = find_explicit(graph);
  if (child == nullptr) {
    vgpu::CapturedNode node;
    const cudaError_t error = vgpu::make_captured_node(graph, &node);
    *work = std::move(node);
    return error;
  }
  if (child->has_memory()) return cudaErrorNotSupported;
  *work = ChildNode{child->clone()};
  return cudaSuccess;
}

cudaError_t work_of(const cudaMemAllocNodeParams* given, NodeWork* work) {
  if (given == nullptr) return cudaErrorInvalidValue;
  vgpu::MemAllocNode node;
  const cudaError_t error = vgpu::make_allocation_node(*given, &node);
  *work = std::move(node);
  return error;
}

cudaError_t work_of(const cudaConditionalNodeParams* given, NodeWork* work) {
  vgpu::ConditionalNode node;
  const cudaError_t error = vgpu::make_conditional_node(*given, &node);
  *work = std::move(node);
  return error;
}

cudaError_t work_of(const cudaGraphNodeParams* given, NodeWork* work) {
  if (given == nullptr) return cudaErrorInvalidValue;
  switch (given->type) {
    case cudaGraphNodeTypeKernel: {
      const cudaKernelNodeParamsV2& k = given->kernel;
      const cudaKernelNodeParams kernel{k.func,           k.gridDim,      k.blockDim,
                                        k.sharedMemBytes, k.kernelParams, k.extra};
      return work_of(&kernel, work);
    }
    case cudaGraphNodeTypeMemcpy:
      return work_of(&given->memcpy.copyParams, work);
    case cudaGraphNodeTypeMemset: {
      const cudaMemsetParamsV2& m = given->memset;
      const cudaMemsetParams fill{m.dst, m.pitch, m.value, m.elementSize, m.width, m.height};
      return work_of(&fill, work);
    }
    case cudaGraphNodeTypeHost: {
      const cudaHostNodeParams host{given->host.fn, given->host.userData};
      return work_of(&host, work);
    }
    case cudaGraphNodeTypeEmpty:
      *work = vgpu::EmptyNode{};
      return cudaSuccess;
    case cudaGraphNodeTypeWaitEvent:
      *work = EventNode{given->eventWait.event, true};
      return cudaSuccess;
    case cudaGraphNodeTypeEventRecord:
      *work = EventNode{given->eventRecord.event, false};
      return cudaSuccess;
    case cudaGraphNodeTypeGraph:
      return work_of(given->graph.graph, work);
    case cudaGraphNodeTypeMemAlloc: {
      const cudaMemAllocNodeParamsV2& m = given->alloc;
      const cudaMemAllocNodeParams allocation{m.poolProps, m.accessDescs, m.accessDescCount, m.bytesize,
                                              nullptr};
      return work_of(&allocation, work);
    }
    case cudaGraphNodeTypeMemFree:
      *work = vgpu::MemFreeNode{given->free.dptr};
      return given->free.dptr != nullptr ? cudaSuccess : cudaErrorInvalidValue;
    case cudaGraphNodeTypeConditional:
      return work_of(&given->conditional, work);
    default:
      return refuse_kind();
  }
}

}  // namespace

namespace vgpu {

cudaGraphNode_t handle_of(const GraphNode* node) {
  return reinterpret_cast<cudaGraphNode_t>(const_cast<GraphNode*>(node));
}

cudaError_t add_node(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                     size_t count, NodeWork work) {
  ExplicitGraph* const into = find_explicit(graph);
  std::vector<GraphNode*> after;
  if (out == nullptr || into == nullptr || !take_dependencies(*into, dependencies, count, &after))
    return cudaErrorInvalidValue;
  GraphNode* const node = into->add(std::move(work), std::move(after));
  *out = handle_of(node);
  return cudaSuccess;
}

}  // namespace vgpu

VGPU_ENTRY(cudaGraphCreate, (cudaGraph_t * graph, unsigned flags), (graph, flags)) {
  if (graph == nullptr || flags != 0) return cudaErrorInvalidValue;
  *graph = vgpu::keep_explicit(std::make_shared<ExplicitGraph>());
  return cudaSuccess;
}

VGPU_ENTRY(cudaGraphClone, (cudaGraph_t * clone, cudaGraph_t graph), (clone, graph)) {
  const ExplicitGraph* const original = find_explicit(graph);
  if (clone == nullptr) return cudaErrorInvalidValue;
  if (original == nullptr)
    return vgpu::Connection::get().ask(wire::Request::kGraphClone,
                                       wire::Id{reinterpret_cast<uint64_t>(graph)},
                                       reinterpret_cast<wire::Id*>(clone));
  if (original->has_memory()) return cudaErrorNotSupported;
  *clone = vgpu::keep_explicit(original->clone());
  return cudaSuccess;
}

VGPU_ENTRY(cudaGraphNodeFindInClone, (cudaGraphNode_t * node, cudaGraphNode_t original, cudaGraph_t clone),
           (node, original, clone)) {
  const ExplicitGraph* const graph = find_explicit(clone);
  if (node == nullptr || graph == nullptr) return cudaErrorInvalidValue;
  for (const auto& own : graph->nodes)
    if (handle_of(own->cloned_from) == original) {
      *node = handle_of(own.get());
      return cudaSuccess;
    }
  return cudaErrorInvalidValue;
}

#define DEPENDENCIES \
  cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count

// Kinds of nodes that are what the program gave. gen_stubs.py reads the names where these macros are used.
#define VGPU_NODES(add, get, set, set_in_graph, Params)                                             \
  VGPU_ENTRY(add, (DEPENDENCIES, const Params* given), (node, graph, dependencies, count, given)) { \
    return add_given(node, graph, dependencies, count, given);                                      \
  }                                                                                                 \
  VGPU_ENTRY(get, (cudaGraphNode_t node, Params * out), (node, out)) {                              \
    return get_given(node, out);                                                                    \
  }                                                                                                 \
  VGPU_ENTRY(set, (cudaGraphNode_t node, const Params* given), (node, given)) {                     \
    return set_given(node, given);                                                                  \
  }                                                                                                 \
  VGPU_ENTRY(set_in_graph, (cudaGraphExec_t executable, cudaGraphNode_t node, const Params* given), \
             (executable, node, given)) {                                                           \
    return set_given_in_executable(executable, node, given);                                        \
  }
VGPU_NODES(cudaGraphAddKernelNode, cudaGraphKernelNodeGetParams, cudaGraphKernelNodeSetParams,
           cudaGraphExecKernelNodeSetParams, cudaKernelNodeParams)
VGPU_NODES(cudaGraphAddMemcpyNode, cudaGraphMemcpyNodeGetParams, cudaGraphMemcpyNodeSetParams,
           cudaGraphExecMemcpyNodeSetParams, cudaMemcpy3DParms)
VGPU_NODES(cudaGraphAddMemsetNode, cudaGraphMemsetNodeGetParams, cudaGraphMemsetNodeSetParams,
           cudaGraphExecMemsetNodeSetParams, cudaMemsetParams)
VGPU_NODES(cudaGraphAddHostNode, cudaGraphHostNodeGetParams, cudaGraphHostNodeSetParams,
           cudaGraphExecHostNodeSetParams, cudaHostNodeParams)

#define VGPU_EVENT_NODES(add, get, set, set_in_graph, waits)                                      \
  VGPU_ENTRY(add, (DEPENDENCIES, cudaEvent_t event), (node, graph, dependencies, count, event)) { \
    return add_node(node, graph, dependencies, count, EventNode{event, waits});                   \
  }                                                                                               \
  VGPU_ENTRY(get, (cudaGraphNode_t node, cudaEvent_t * event), (node, event)) {                   \
    return get_event(node, waits, event);                                                         \
  }                                                                                               \
  VGPU_ENTRY(set, (cudaGraphNode_t node, cudaEvent_t event), (node, event)) {                     \
    return set_work(node, EventNode{event, waits});                                               \
  }                                                                                               \
  VGPU_ENTRY(set_in_graph, (cudaGraphExec_t executable, cudaGraphNode_t node, cudaEvent_t event), \
             (executable, node, event)) {                                                         \
    return set_in_executable(executable, node, EventNode{event, waits});                          \
  }
VGPU_EVENT_NODES(cudaGraphAddEventRecordNode, cudaGraphEventRecordNodeGetEvent,
                 cudaGraphEventRecordNodeSetEvent, cudaGraphExecEventRecordNodeSetEvent, false)
VGPU_EVENT_NODES(cudaGraphAddEventWaitNode, cudaGraphEventWaitNodeGetEvent, cudaGraphEventWaitNodeSetEvent,
                 cudaGraphExecEventWaitNodeSetEvent, true)

VGPU_ENTRY(cudaGraphAddMemcpyNode1D,
           (DEPENDENCIES, void* dst, const void* src, size_t bytes, cudaMemcpyKind kind),
           (node, graph, dependencies, count, dst, src, bytes, kind)) {
  const cudaMemcpy3DParms copy = one_row(dst, src, bytes, kind);
  return add_given(node, graph, dependencies, count, &copy);
}

VGPU_ENTRY(cudaGraphAddMemcpyNodeToSymbol,
           (DEPENDENCIES, const void* symbol, const void* src, size_t bytes, size_t offset,
            cudaMemcpyKind kind),
           (node, graph, dependencies, count, symbol, src, bytes, offset, kind)) {
  void* address = nullptr;
  if (const cudaError_t error = in_symbol(symbol, offset, bytes, &address); error != cudaSuccess)
    return error;
  const cudaMemcpy3DParms copy = one_row(address, src, bytes, kind);
  return add_given(node, graph, dependencies, count, &copy);
}

VGPU_ENTRY(cudaGraphAddMemcpyNodeFromSymbol,
           (DEPENDENCIES, void* dst, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind),
           (node, graph, dependencies, count, dst, symbol, bytes, offset, kind)) {
  void* address = nullptr;
  if (const cudaError_t error = in_symbol(symbol, offset, bytes, &address); error != cudaSuccess)
    return error;
  const cudaMemcpy3DParms copy = one_row(dst, address, bytes, kind);
  return add_given(node, graph, dependencies, count, &copy);
}

VGPU_ENTRY(cudaGraphAddEmptyNode, (DEPENDENCIES), (node, graph, dependencies, count)) {
  return add_node(node, graph, dependencies, count, vgpu::EmptyNode{});
}

VGPU_ENTRY(cudaGraphAddChildGraphNode, (DEPENDENCIES, cudaGraph_t child),
           (node, graph, dependencies, count, child)) {
  return add_given(node, graph, dependencies, count, child);
}

// Edges that let a kernel begin early are ordinary ones here: a later beginning changes no result.
VGPU_ENTRY(cudaGraphAddNode,
           (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
            const cudaGraphEdgeData*, size_t count, cudaGraphNodeParams* given),
           (node, graph, dependencies, nullptr, count, given)) {
  const cudaError_t error =
      add_given(node, graph, dependencies, count, static_cast<const cudaGraphNodeParams*>(given));
  if (error != cudaSuccess) return error;
  // What the program gets back with the node.
  const NodeWork& work = find_node(*node)->work;
  if (const auto* allocation = std::get_if<vgpu::MemAllocNode>(&work))
    given->alloc.dptr = allocation->given.dptr;
  if (const auto* condition = std::get_if<vgpu::ConditionalNode>(&work))
    given->conditional.phGraph_out = condition->handles->data();
  return cudaSuccess;
}

VGPU_ENTRY(cudaGraphAddMemAllocNode, (DEPENDENCIES, cudaMemAllocNodeParams* given),
           (node, graph, dependencies, count, given)) {
  const cudaError_t error =
      add_given(node, graph, dependencies, count, static_cast<const cudaMemAllocNodeParams*>(given));
  if (error == cudaSuccess) given->dptr = std::get<vgpu::MemAllocNode>(find_node(*node)->work).given.dptr;
  return error;
}

VGPU_ENTRY(cudaGraphAddMemFreeNode, (DEPENDENCIES, void* address),
           (node, graph, dependencies, count, address)) {
  if (address == nullptr) return cudaErrorInvalidValue;
  return add_node(node, graph, dependencies, count, vgpu::MemFreeNode{address});
}

VGPU_ENTRY(cudaGraphMemAllocNodeGetParams, (cudaGraphNode_t node, cudaMemAllocNodeParams* out), (node, out)) {
  vgpu::MemAllocNode known;
  if (out == nullptr || get_given(node, &known) != cudaSuccess) return cudaErrorInvalidValue;
  *out = known.given;
  return cudaSuccess;
}

VGPU_ENTRY(cudaGraphMemFreeNodeGetParams, (cudaGraphNode_t node, void* out), (node, out)) {
  vgpu::MemFreeNode known{};
  if (out == nullptr || get_given(node, &known) != cudaSuccess) return cudaErrorInvalidValue;
  *static_cast<void**>(out) = known.address;
  return cudaSuccess;
}

VGPU_ENTRY(cudaGraphNodeSetParams, (cudaGraphNode_t node, cudaGraphNodeParams* given), (node, given)) {
  return set_given(node, static_cast<const cudaGraphNodeParams*>(given));
}

VGPU_ENTRY(cudaGraphExecNodeSetParams,
           (cudaGraphExec_t executable, cudaGraphNode_t node, cudaGraphNodeParams* given),
           (executable, node, given)) {
  return set_given_in_executable(executable, node, static_cast<const cudaGraphNodeParams*>(given));
}

VGPU_ENTRY(cudaGraphMemcpyNodeSetParams1D,
           (cudaGraphNode_t node, void* dst, const void* src, size_t bytes, cudaMemcpyKind kind),
           (node, dst, src, bytes, kind)) {
  const cudaMemcpy3DParms copy = one_row(dst, src, bytes, kind);
  return set_given(node, &copy);
}

VGPU_ENTRY(cudaGraphExecMemcpyNodeSetParams1D,
           (cudaGraphExec_t executable, cudaGraphNode_t node, void* dst, const void* src, size_t bytes,
            cudaMemcpyKind kind),
           (executable, node, dst, src, bytes, kind)) {
  const cudaMemcpy3DParms copy = one_row(dst, src, bytes, kind);
  return set_given_in_executable(executable, node, &copy);
}

VGPU_ENTRY(cudaGraphChildGraphNodeGetGraph, (cudaGraphNode_t node, cudaGraph_t* graph), (node, graph)) {
  ChildNode child{};
  if (graph == nullptr || get_given(node, &child) != cudaSuccess) return cudaErrorInvalidValue;
  *graph = reinterpret_cast<cudaGraph_t>(child.graph.get());
  return cudaSuccess;
}

VGPU_ENTRY(cudaGraphExecChildGraphNodeSetParams,
           (cudaGraphExec_t executable, cudaGraphNode_t node, cudaGraph_t child), (executable, node, child)) {
  return set_given_in_executable(executable, node, child);
}
