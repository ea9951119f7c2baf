// Functions on the edges between nodes of graphs that a program builds itself, and on graphs as a whole.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "api.h"
#include "explicit_graph.h"

namespace {

using vgpu::ExplicitGraph;
using vgpu::find_explicit;
using vgpu::find_node;
using vgpu::GraphNode;
using vgpu::handle_of;
using vgpu::type_of;

// For functions that fill a buffer with handles, or say how many there are.
cudaError_t give_nodes(const std::vector<const GraphNode*>& nodes, cudaGraphNode_t* out, size_t* count) {
  if (count == nullptr) return cudaErrorInvalidValue;
  if (out != nullptr)
    for (size_t i = 0; i < *count; ++i) out[i] = i < nodes.size() ? handle_of(nodes[i]) : nullptr;
  *count = out == nullptr ? nodes.size() : std::min(*count, nodes.size());
  return cudaSuccess;
}

const char* type_name(cudaGraphNodeType type) {
  constexpr const char* kNames[] = {"KERNEL",    "MEMCPY",     "MEMSET",       "HOST",       "GRAPH",
                                    "EMPTY",     "WAIT_EVENT", "EVENT_RECORD", "SIGNAL",     "WAIT",
                                    "MEM_ALLOC", "MEM_FREE",   "BATCH_MEM_OP", "CONDITIONAL"};
  return type <= cudaGraphNodeTypeConditional ? kNames[type] : "NODE";
}

}  // namespace

VGPU_ENTRY(cudaGraphNodeGetType, (cudaGraphNode_t node, cudaGraphNodeType* type), (node, type)) {
  const GraphNode* const known = find_node(node);
  if (known == nullptr || type == nullptr) return cudaErrorInvalidValue;
  *type = type_of(known->work);
  return cudaSuccess;
}

VGPU_ENTRY(cudaGraphGetRootNodes, (cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count),
           (graph, nodes, count)) {
  const ExplicitGraph* const known = find_explicit(graph);
  if (known == nullptr) return cudaErrorInvalidValue;
  std::vector<const GraphNode*> roots;
  for (const auto& node : known->nodes)
    if (node->after.empty()) roots.push_back(node.get());
  return give_nodes(roots, nodes, count);
}

VGPU_ENTRY(cudaGraphGetEdges,
           (cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, cudaGraphEdgeData* data,
            size_t* count),
           (graph, from, to, data, count)) {
  const ExplicitGraph* const known = find_explicit(graph);
  if (known == nullptr || count == nullptr) return cudaErrorInvalidValue;
  std::vector<const GraphNode*> begins, ends;
  for (const auto& node : known->nodes)
    for (const GraphNode* before : node->after) {
      begins.push_back(before);
      ends.push_back(node.get());
    }
  if (data != nullptr && from != nullptr) std::memset(data, 0, *count * sizeof *data);
  size_t same = *count;
  if (to != nullptr) give_nodes(ends, to, &same);
  return give_nodes(begins, from, count);
}

VGPU_ENTRY(cudaGraphNodeGetDependencies,
           (cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* data, size_t* count),
           (node, nodes, data, count)) {
  const GraphNode* const known = find_node(node);
  if (known == nullptr || count == nullptr) return cudaErrorInvalidValue;
  if (data != nullptr && nodes != nullptr) std::memset(data, 0, *count * sizeof *data);
  return give_nodes({known->after.begin(), known->after.end()}, nodes, count);
}

VGPU_ENTRY(cudaGraphNodeGetDependentNodes,
           (cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* data, size_t* count),
           (node, nodes, data, count)) {
  const GraphNode* const known = find_node(node);
  if (known == nullptr || count == nullptr) return cudaErrorInvalidValue;
  if (data != nullptr && nodes != nullptr) std::memset(data, 0, *count * sizeof *data);
  std::vector<const GraphNode*> followers;
  for (const auto& other : known->graph->nodes)
    if (std::find(other->after.begin(), other->after.end(), known) != other->after.end())
      followers.push_back(other.get());
  return give_nodes(followers, nodes, count);
}

VGPU_ENTRY(cudaGraphAddDependencies,
           (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
            const cudaGraphEdgeData*, size_t count),
           (graph, from, to, nullptr, count)) {
  ExplicitGraph* const known = find_explicit(graph);
  if (known == nullptr || (count > 0 && (from == nullptr || to == nullptr))) return cudaErrorInvalidValue;
  for (size_t i = 0; i < count; ++i) {
    GraphNode *const before = find_node(from[i]), *const after = find_node(to[i]);
    if (before == nullptr || after == nullptr || before == after || !known->has(before) || !known->has(after))
      return cudaErrorInvalidValue;
    if (std::find(after->after.begin(), after->after.end(), before) != after->after.end())
      return cudaErrorInvalidValue;
    after->after.push_back(before);
    if (known->in_order().empty()) {  // a circle
      after->after.pop_back();
      return cudaErrorInvalidValue;
    }
  }
  return cudaSuccess;
}

VGPU_ENTRY(cudaGraphRemoveDependencies,
           (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
            const cudaGraphEdgeData*, size_t count),
           (graph, from, to, nullptr, count)) {
  const ExplicitGraph* const known = find_explicit(graph);
  if (known == nullptr || (count > 0 && (from == nullptr || to == nullptr))) return cudaErrorInvalidValue;
  for (size_t i = 0; i < count; ++i) {
    GraphNode *const before = find_node(from[i]), *const after = find_node(to[i]);
    if (before == nullptr || after == nullptr || !known->has(after)) return cudaErrorInvalidValue;
    const auto edge = std::find(after->after.begin(), after->after.end(), before);
    if (edge == after->after.end()) return cudaErrorInvalidValue;
    after->after.erase(edge);
  }
  return cudaSuccess;
}

VGPU_ENTRY(cudaGraphDestroyNode, (cudaGraphNode_t node), (node)) {
  GraphNode* const known = find_node(node);
  if (known == nullptr) return cudaErrorInvalidValue;
  known->graph->remove(known);
  return cudaSuccess;
}

VGPU_ENTRY(cudaGraphDebugDotPrint, (cudaGraph_t graph, const char* path, unsigned), (graph, path, 0)) {
  const ExplicitGraph* const known = find_explicit(graph);
  if (known == nullptr || path == nullptr) return cudaErrorInvalidValue;
  std::FILE* const file = std::fopen(path, "w");
  if (file == nullptr) return cudaErrorOperatingSystem;
  std::fprintf(file, "digraph graph_1 {\n");
  const auto number = [&](const GraphNode* node) {
    const auto at = std::find_if(known->nodes.begin(), known->nodes.end(),
                                 [&](const auto& own) { return own.get() == node; });
    return static_cast<int>(at - known->nodes.begin());
  };
  for (const auto& node : known->nodes)
    std::fprintf(file, "  node_%d [label=\"%d %s\"];\n", number(node.get()), number(node.get()),
                 type_name(type_of(node->work)));
  for (const auto& node : known->nodes)
    for (const GraphNode* before : node->after)
      std::fprintf(file, "  node_%d -> node_%d;\n", number(before), number(node.get()));
  std::fprintf(file, "}\n");
  return std::fclose(file) == 0 ? cudaSuccess : cudaErrorOperatingSystem;
}
