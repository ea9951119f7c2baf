// Conditional nodes of graphs, and captured graphs as parts of others.
#include "api.h"
#include "connection.h"
#include "explicit_graph.h"

namespace {

using vgpu::Connection;
using vgpu::wire::Request;
namespace wire = vgpu::wire;

}  // namespace

namespace vgpu {

cudaError_t make_conditional_node(const cudaConditionalNodeParams& given, ConditionalNode* node) {
  const unsigned most = given.type == cudaGraphCondTypeIf      ? 2
                        : given.type == cudaGraphCondTypeWhile ? 1
                                                               : 4096;
  if (given.type > cudaGraphCondTypeSwitch || given.size < 1 || given.size > most)
    return cudaErrorInvalidValue;
  node->given = given;
  node->handles = std::make_shared<std::vector<cudaGraph_t>>();
  for (unsigned i = 0; i < given.size; ++i) {
    node->bodies.push_back(std::make_shared<ExplicitGraph>());
    node->handles->push_back(reinterpret_cast<cudaGraph_t>(node->bodies.back().get()));
  }
  node->given.phGraph_out = node->handles->data();
  return cudaSuccess;
}

CapturedNode own_captured(uint64_t engine_graph) {
  return {std::shared_ptr<const uint64_t>(new uint64_t(engine_graph), [](const uint64_t* one) {
    Connection::get().ask(Request::kGraphDestroy, wire::Id{*one});
    delete one;
  })};
}

cudaError_t make_captured_node(cudaGraph_t captured, CapturedNode* node) {
  wire::Id copy{};
  const cudaError_t error =
      Connection::get().ask(Request::kGraphClone, wire::Id{reinterpret_cast<uint64_t>(captured)}, &copy);
  if (error == cudaSuccess) *node = own_captured(copy.id);
  return error;
}

}  // namespace vgpu

VGPU_ENTRY(cudaGraphConditionalHandleCreate,
           (cudaGraphConditionalHandle * handle, cudaGraph_t graph, unsigned first_value, unsigned flags),
           (handle, graph, first_value, flags)) {
  if (handle == nullptr || (flags & ~static_cast<unsigned>(cudaGraphCondAssignDefault)) != 0)
    return cudaErrorInvalidValue;
  vgpu::ExplicitGraph* const known = vgpu::find_explicit(graph);
  if (known == nullptr) {
    static bool warned = false;
    return static_cast<cudaError_t>(
        vgpu::not_supported("a conditional node in a graph that is being captured", &warned));
  }
  wire::Id made{};
  const cudaError_t error =
      Connection::get().ask(Request::kConditionalCreate, wire::ConditionalCreate{first_value, 0}, &made);
  if (error != cudaSuccess) return error;
  *handle = made.id;
  if (flags & cudaGraphCondAssignDefault) known->assigned.push_back(made.id);
  return cudaSuccess;
}
