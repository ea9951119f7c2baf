// Graphs whose nodes a program adds itself. They are kept here, and become a graph of the engine's when one
// is instantiated: a capture of the library's own, node by node, with the edges that the program gave.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace vgpu {

struct ExplicitGraph;

struct KernelNode {
  cudaKernelNodeParams given{};
  std::vector<std::vector<uint8_t>> values;  // of the arguments, taken when they were given
  std::vector<void*> pointers;               // to them, as the program reads them back

  KernelNode() = default;
  KernelNode(const KernelNode& other) : given(other.given), values(other.values) { point(); }
  KernelNode(KernelNode&&) = default;
  KernelNode& operator=(KernelNode other) noexcept {
    given = other.given;
    values = std::move(other.values);
    point();
    return *this;
  }
  void point() {
    pointers.clear();
    for (std::vector<uint8_t>& value : values) pointers.push_back(value.data());
    given.kernelParams = pointers.data();
  }
};
struct EmptyNode {};
struct EventNode {
  cudaEvent_t event;
  bool waits;
};
struct ChildNode {
  std::shared_ptr<ExplicitGraph> graph;
};
struct CapturedNode {                     // the nodes of a captured graph
  std::shared_ptr<const uint64_t> graph;  // of the engine's, destroyed with the last of its nodes
};
struct MemAllocNode {
  cudaMemAllocNodeParams given{};           // with the address
  std::shared_ptr<const uint64_t> address;  // reserved as long as a node has it
};
struct MemFreeNode {
  void* address;
};
struct ConditionalNode {
  cudaConditionalNodeParams given{};
  std::vector<std::shared_ptr<ExplicitGraph>> bodies;
  std::shared_ptr<std::vector<cudaGraph_t>> handles;  // of the bodies, as the program gets them
};
using NodeWork = std::variant<EmptyNode, KernelNode, cudaMemcpy3DParms, cudaMemsetParams, cudaHostNodeParams,
                              EventNode, ChildNode, CapturedNode, MemAllocNode, MemFreeNode, ConditionalNode>;

struct GraphNode {
  NodeWork work;
  ExplicitGraph* graph = nullptr;
  std::vector<GraphNode*> after;
  const GraphNode* cloned_from = nullptr;
};

struct ExplicitGraph {
  std::vector<std::unique_ptr<GraphNode>> nodes;
  std::vector<uint64_t> assigned;  // conditions that get their default value at each launch

  GraphNode* add(NodeWork work, std::vector<GraphNode*> after);
  bool has(const GraphNode* node) const;
  void remove(GraphNode* node);  // with its edges
  // With its child graphs. Nodes of the copy know what they are copies of.
  std::shared_ptr<ExplicitGraph> clone() const;
  // Each behind those that it waits for; empty where nodes wait for each other in a circle.
  std::vector<GraphNode*> in_order() const;
  bool has_memory() const;  // nodes that allocate or free
  // Makes a graph of the engine's: a whole one, or the body of a conditional node.
  enum class Part { kWhole, kBody };
  cudaError_t build(uint64_t* engine_graph, Part part = Part::kWhole) const;
};

cudaGraphNodeType type_of(const NodeWork& work);
// Graphs inside a node.
std::vector<std::shared_ptr<ExplicitGraph>> graphs_of(const NodeWork& work);
// A kernel's arguments are copied.
cudaError_t make_kernel_node(const cudaKernelNodeParams& given, KernelNode* node);
// With an address that stays the node's own.
cudaError_t make_allocation_node(const cudaMemAllocNodeParams& given, MemAllocNode* node);
// With bodies that the program fills.
cudaError_t make_conditional_node(const cudaConditionalNodeParams& given, ConditionalNode* node);
// Of a copy, unless the graph is the caller's to give away.
cudaError_t make_captured_node(cudaGraph_t captured, CapturedNode* node);
CapturedNode own_captured(uint64_t engine_graph);
// What the cudaGraphAdd… functions do.
cudaError_t add_node(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                     size_t count, NodeWork work);

// Handles of explicit graphs are addresses of theirs; those of captured ones, numbers of the engine's.
ExplicitGraph* find_explicit(cudaGraph_t graph);
GraphNode* find_node(cudaGraphNode_t node);
cudaGraphNode_t handle_of(const GraphNode* node);
std::shared_ptr<ExplicitGraph> share_explicit(cudaGraph_t graph);
cudaGraph_t keep_explicit(std::shared_ptr<ExplicitGraph> graph);
bool drop_explicit(cudaGraph_t graph);

// The explicit graph that an executable one was made from, as it is now; nullptr for others.
void remember_executable(cudaGraphExec_t executable, std::shared_ptr<ExplicitGraph> graph);
std::shared_ptr<ExplicitGraph> graph_of(cudaGraphExec_t executable);
void forget_executable(cudaGraphExec_t executable);

}  // namespace vgpu
