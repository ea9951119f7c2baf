// Work that is captured once into a CUDA graph and replayed as one launch.
#pragma once

#include <cuda_runtime.h>

#include <utility>

// What a function puts on a stream, as a graph. What it captured is checked: a graph without a node would
// replay nothing, and nobody would notice.
class CapturedGraph {
 public:
  CapturedGraph() = default;
  ~CapturedGraph() { release(); }
  CapturedGraph(CapturedGraph&& other) noexcept { *this = std::move(other); }
  CapturedGraph& operator=(CapturedGraph&& other) noexcept {
    if (this != &other) {
      release();
      executable_ = std::exchange(other.executable_, nullptr);
      nodes_ = std::exchange(other.nodes_, 0);
    }
    return *this;
  }
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;

  // Runs work(stream), which answers a cudaError_t, while the stream is captured. After an error the stream
  // is as it was, and the graph before, if there was one, is gone.
  template <class Work>
  cudaError_t capture(cudaStream_t stream, Work work) {
    release();
    if (const cudaError_t e = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal)) return e;
    const cudaError_t worked = work(stream);
    cudaGraph_t graph = nullptr;
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    cudaError_t error = worked != cudaSuccess ? worked : ended;
    size_t nodes = 0;
    if (error == cudaSuccess) error = cudaGraphGetNodes(graph, nullptr, &nodes);
    if (error == cudaSuccess && nodes == 0) error = cudaErrorStreamCaptureUnmatched;
    if (error == cudaSuccess) error = cudaGraphInstantiate(&executable_, graph, 0);
    if (graph != nullptr) cudaGraphDestroy(graph);
    if (error == cudaSuccess) {
      nodes_ = nodes;
    } else {
      executable_ = nullptr;
    }
    return error;
  }

  cudaError_t replay(cudaStream_t stream) const {
    return executable_ == nullptr ? cudaErrorInvalidResourceHandle : cudaGraphLaunch(executable_, stream);
  }
  size_t nodes() const { return nodes_; }

 private:
  void release() {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
    executable_ = nullptr;
    nodes_ = 0;
  }

  cudaGraphExec_t executable_ = nullptr;
  size_t nodes_ = 0;
};
