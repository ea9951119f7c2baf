// The trusted half of a call on the virtual GPU, loaded in the worker before the submission's library: the
// stream that entry points are given, and another one on which calls are captured into a graph.
//
// An empty kernel marks the stream before and after a call. The engine runs whatever it may as late queued
// work first, so that a launch which does not wait for the stream comes before the first mark, and one that
// the stream does not wait for behind the second: the order of launches in its report tells.
#include <cuda_runtime.h>

#include <cstdint>

extern "C" __global__ void given_stream_begins() {}
extern "C" __global__ void given_stream_ends() {}

namespace {

cudaStream_t given = nullptr;
cudaStream_t captured = nullptr;
cudaGraphExec_t graph = nullptr;
int nodes = 0;

// The virtual GPU's handles are small numbers.
int number_of(cudaStream_t stream) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(stream));
}

}  // namespace

extern "C" {

// It stands apart from the default stream, as a server's streams do: what is launched there is not in order
// with it. Negative for an error.
int given_stream() {
  if (given == nullptr)
    if (const cudaError_t e = cudaStreamCreateWithFlags(&given, cudaStreamNonBlocking)) return -e;
  return number_of(given);
}
int begin_call() {
  given_stream_begins<<<1, 1, 0, given>>>();
  return cudaSuccess;  // whether it ran, the report says
}
int end_call() {
  given_stream_ends<<<1, 1, 0, given>>>();
  return cudaSuccess;  // whether it ran, the report says
}

// This one takes part in the default stream's order, so that work which a captured call puts there by mistake
// is an error with a name and not silently left out of the graph. Negative for an error.
int captured_stream() {
  if (captured == nullptr)
    if (const cudaError_t e = cudaStreamCreate(&captured)) return -e;
  return number_of(captured);
}
int begin_capture() {
  return cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal);
}
int end_capture() {
  cudaGraph_t made = nullptr;
  cudaError_t e = cudaStreamEndCapture(captured, &made);
  if (e != cudaSuccess) return e;
  size_t count = 0;
  e = cudaGraphGetNodes(made, nullptr, &count);
  nodes = static_cast<int>(count);
  if (e == cudaSuccess) e = cudaGraphInstantiate(&graph, made, 0);
  cudaGraphDestroy(made);
  return e;
}
int captured_nodes() {
  return nodes;
}
int launch_graph() {
  return cudaGraphLaunch(graph, captured);
}

}  // extern "C"
