// CUDA graphs: capture, instantiation and replay. Handles are the engine's ids.
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "api.h"
#include "callbacks.h"
#include "capture.h"
#include "connection.h"
#include "explicit_graph.h"

namespace {

using vgpu::Connection;
using vgpu::wire::Request;
namespace wire = vgpu::wire;

std::atomic<int> captures{0};

// Captures that become part of a graph that the program builds itself.
struct IntoGraph {
  cudaGraph_t graph;
  std::vector<cudaGraphNode_t> after;
};
std::mutex into_graph_mutex;
std::map<uint64_t, IntoGraph> into_graph;  // by stream
thread_local cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;

template <typename Handle>
wire::Id id_of(Handle handle) {
  return {reinterpret_cast<uint64_t>(handle)};
}

cudaError_t instantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  if (executable == nullptr || graph == nullptr) return cudaErrorInvalidValue;
  wire::Id id{}, made = id_of(graph);
  const vgpu::ExplicitGraph* const own = vgpu::find_explicit(graph);
  cudaError_t error = own != nullptr ? own->build(&made.id) : cudaSuccess;
  if (error != cudaSuccess) return error;
  error = Connection::get().ask(Request::kGraphInstantiate, wire::GraphInstantiate{made.id, flags}, &id);
  if (own != nullptr) Connection::get().ask(Request::kGraphDestroy, made);
  if (error != cudaSuccess) return error;
  *executable = reinterpret_cast<cudaGraphExec_t>(id.id);
  if (own != nullptr) vgpu::remember_executable(*executable, own->clone());
  return cudaSuccess;
}

cudaError_t capture_info(uint64_t stream, wire::CaptureInfo* info) {
  return Connection::get().ask(Request::kCaptureInfo, wire::Id{stream}, info);
}

}  // namespace

namespace vgpu {

bool is_capturing(uint64_t stream) {
  wire::CaptureInfo info{};
  return captures > 0 && capture_info(stream, &info) == cudaSuccess &&
         info.status == cudaStreamCaptureStatusActive;
}

bool is_any_capturing() {
  return captures > 0;
}

}  // namespace vgpu

VGPU_TWINS(cudaStreamBeginCapture, _ptsz, (cudaStream_t stream, cudaStreamCaptureMode mode), (stream, mode)) {
  if (mode < cudaStreamCaptureModeGlobal || mode > cudaStreamCaptureModeRelaxed) return cudaErrorInvalidValue;
  const cudaError_t error = Connection::get().ask(
      Request::kCaptureBegin, wire::CaptureBegin{on(stream), static_cast<uint32_t>(mode), 0});
  if (error == cudaSuccess) ++captures;
  return error;
}

VGPU_TWINS(cudaStreamBeginCaptureToGraph, _ptsz,
           (cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
            const cudaGraphEdgeData*, size_t count, cudaStreamCaptureMode mode),
           (stream, graph, dependencies, nullptr, count, mode)) {
  if (vgpu::find_explicit(graph) == nullptr || (count > 0 && dependencies == nullptr))
    return cudaErrorInvalidValue;
  const cudaError_t error = cudaStreamBeginCapture(stream, mode);
  if (error != cudaSuccess) return error;
  const std::lock_guard<std::mutex> lock(into_graph_mutex);
  into_graph[on(stream)] = {graph, {dependencies, dependencies + count}};
  return cudaSuccess;
}

VGPU_TWINS(cudaStreamEndCapture, _ptsz, (cudaStream_t stream, cudaGraph_t* graph), (stream, graph)) {
  IntoGraph into{};
  {
    const std::lock_guard<std::mutex> lock(into_graph_mutex);
    if (const auto found = into_graph.find(on(stream)); found != into_graph.end()) {
      into = std::move(found->second);
      into_graph.erase(found);
    }
  }
  if (graph == nullptr && into.graph == nullptr) return cudaErrorInvalidValue;
  if (graph != nullptr) *graph = into.graph;
  wire::Id id{};
  const cudaError_t error = Connection::get().ask(Request::kCaptureEnd, wire::Id{on(stream)}, &id);
  // A capture that was spoilt is over too; one that was never begun, or is another stream's, is not.
  if (error == cudaSuccess || error == cudaErrorStreamCaptureInvalidated ||
      error == cudaErrorStreamCaptureUnjoined) {
    --captures;
  }
  if (error != cudaSuccess) return error;
  if (into.graph != nullptr) {
    cudaGraphNode_t node = nullptr;
    return vgpu::add_node(&node, into.graph, into.after.data(), into.after.size(), vgpu::own_captured(id.id));
  }
  *graph = reinterpret_cast<cudaGraph_t>(id.id);
  return error;
}

VGPU_TWINS(cudaStreamIsCapturing, _ptsz, (cudaStream_t stream, cudaStreamCaptureStatus* status),
           (stream, status)) {
  if (status == nullptr) return cudaErrorInvalidValue;
  wire::CaptureInfo info{};
  const cudaError_t error = capture_info(on(stream), &info);
  if (error == cudaSuccess) *status = static_cast<cudaStreamCaptureStatus>(info.status);
  return error;
}

// The graph under construction and its last nodes are not shown: no function here could use them.
VGPU_TWINS(cudaStreamGetCaptureInfo, _ptsz,
           (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
            const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges, size_t* dependency_count),
           (stream, status, id, graph, dependencies, edges, dependency_count)) {
  if (status == nullptr) return cudaErrorInvalidValue;
  wire::CaptureInfo info{};
  const cudaError_t error = capture_info(on(stream), &info);
  if (error != cudaSuccess) return error;
  *status = static_cast<cudaStreamCaptureStatus>(info.status);
  if (id != nullptr) *id = info.id;
  if (graph != nullptr) *graph = nullptr;
  if (dependencies != nullptr) *dependencies = nullptr;
  if (edges != nullptr) *edges = nullptr;
  if (dependency_count != nullptr) *dependency_count = 0;
  return cudaSuccess;
}

VGPU_ENTRY(cudaThreadExchangeStreamCaptureMode, (cudaStreamCaptureMode * mode), (mode)) {
  if (mode == nullptr) return cudaErrorInvalidValue;
  const cudaStreamCaptureMode before = capture_mode;
  capture_mode = *mode;
  *mode = before;
  return cudaSuccess;
}

VGPU_ENTRY(cudaGraphInstantiate, (cudaGraphExec_t * executable, cudaGraph_t graph, unsigned long long flags),
           (executable, graph, flags)) {
  return instantiate(executable, graph, flags);
}

VGPU_ENTRY(cudaGraphInstantiateWithFlags,
           (cudaGraphExec_t * executable, cudaGraph_t graph, unsigned long long flags),
           (executable, graph, flags)) {
  return instantiate(executable, graph, flags);
}

VGPU_TWINS(cudaGraphInstantiateWithParams, _ptsz,
           (cudaGraphExec_t * executable, cudaGraph_t graph, cudaGraphInstantiateParams* parameters),
           (executable, graph, parameters)) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  const cudaError_t error = instantiate(executable, graph, parameters->flags);
  parameters->errNode_out = nullptr;
  parameters->result_out = error == cudaSuccess ? cudaGraphInstantiateSuccess : cudaGraphInstantiateError;
  return error;
}

// Nothing to prepare: an executable graph is in the engine already.
VGPU_TWINS(cudaGraphUpload, _ptsz, (cudaGraphExec_t executable, cudaStream_t), (executable, nullptr)) {
  return executable != nullptr ? cudaSuccess : cudaErrorInvalidValue;
}

VGPU_TWINS(cudaGraphLaunch, _ptsz, (cudaGraphExec_t executable, cudaStream_t stream), (executable, stream)) {
  if (executable == nullptr) return cudaErrorInvalidValue;
  const cudaError_t error =
      Connection::get().ask(Request::kGraphLaunch, wire::GraphLaunch{id_of(executable).id, on(stream)});
  if (error == cudaSuccess) vgpu::expect_graph_callbacks(on(stream));
  return error;
}

VGPU_ENTRY(cudaGraphDestroy, (cudaGraph_t graph), (graph)) {
  if (graph == nullptr) return cudaErrorInvalidValue;
  if (vgpu::drop_explicit(graph)) return cudaSuccess;
  return Connection::get().ask(Request::kGraphDestroy, id_of(graph));
}

VGPU_ENTRY(cudaGraphExecDestroy, (cudaGraphExec_t executable), (executable)) {
  if (executable == nullptr) return cudaErrorInvalidValue;
  vgpu::forget_executable(executable);
  return Connection::get().ask(Request::kGraphExecDestroy, id_of(executable));
}

VGPU_ENTRY(cudaGraphExecUpdate,
           (cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* result),
           (executable, graph, result)) {
  if (executable == nullptr || graph == nullptr || result == nullptr) return cudaErrorInvalidValue;
  const vgpu::ExplicitGraph* const own = vgpu::find_explicit(graph);
  wire::Id made = id_of(graph);
  cudaError_t error = own != nullptr ? own->build(&made.id) : cudaSuccess;
  if (error != cudaSuccess) return error;
  error =
      Connection::get().ask(Request::kGraphExecUpdate, wire::GraphExecUpdate{id_of(executable).id, made.id});
  if (own != nullptr) Connection::get().ask(Request::kGraphDestroy, made);
  if (own != nullptr && error == cudaSuccess) vgpu::remember_executable(executable, own->clone());
  *result = {};
  result->result =
      error == cudaSuccess ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged;
  return error;
}

// Nodes of a captured graph have no handles: they are only counted.
VGPU_ENTRY(cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count),
           (graph, nodes, count)) {
  if (graph == nullptr || count == nullptr) return cudaErrorInvalidValue;
  if (const vgpu::ExplicitGraph* const own = vgpu::find_explicit(graph)) {
    if (nodes != nullptr)
      for (size_t i = 0; i < *count; ++i)
        nodes[i] = i < own->nodes.size() ? reinterpret_cast<cudaGraphNode_t>(own->nodes[i].get()) : nullptr;
    *count = nodes == nullptr ? own->nodes.size() : std::min(*count, own->nodes.size());
    return cudaSuccess;
  }
  if (nodes != nullptr) {
    static bool warned = false;
    return static_cast<cudaError_t>(
        vgpu::not_supported("cudaGraphGetNodes with a buffer for the nodes of a captured graph", &warned));
  }
  wire::Count answer{};
  const cudaError_t error = Connection::get().ask(Request::kGraphNodeCount, id_of(graph), &answer);
  if (error == cudaSuccess) *count = static_cast<size_t>(answer.value);
  return error;
}
