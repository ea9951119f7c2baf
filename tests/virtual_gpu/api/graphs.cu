// CUDA graphs: what capture records and refuses, replay, a fork and join inside a capture, update.
#include "expect.cuh"

__global__ void add(int* value, int amount) {
  *value += amount;
}

namespace {

int* value = nullptr;
int* pinned = nullptr;
int calls = 0;

void CUDART_CB count(void*) {
  ++calls;
}

int read() {
  int result = -1;
  OK(cudaMemcpy(&result, value, sizeof result, cudaMemcpyDeviceToHost));
  return result;
}

cudaStreamCaptureStatus status(cudaStream_t stream) {
  cudaStreamCaptureStatus now{};
  OK(cudaStreamIsCapturing(stream, &now));
  return now;
}

}  // namespace

int main() {
  cudaStream_t stream = nullptr, side = nullptr;
  OK(cudaStreamCreate(&stream));
  OK(cudaStreamCreate(&side));
  OK(cudaMalloc(&value, sizeof *value));
  OK(cudaMallocHost(&pinned, sizeof *pinned));
  OK(cudaMemset(value, 0, sizeof *value));
  OK(cudaDeviceSynchronize());

  cudaGraph_t graph = nullptr;
  GIVES(cudaErrorStreamCaptureUnsupported,
        cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeGlobal));
  GIVES(cudaErrorIllegalState, cudaStreamEndCapture(stream, &graph));
  HOLDS(status(stream) == cudaStreamCaptureStatusNone);
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  GIVES(cudaErrorIllegalState, cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  HOLDS(status(stream) == cudaStreamCaptureStatusActive && status(side) == cudaStreamCaptureStatusNone);
  add<<<1, 1, 0, stream>>>(value, 1);
  OK(cudaMemcpyAsync(pinned, value, sizeof *value, cudaMemcpyDeviceToHost, stream));
  OK(cudaLaunchHostFunc(stream, count, nullptr));
  cudaStreamCaptureStatus now{};
  unsigned long long id = 0;
  OK(cudaStreamGetCaptureInfo(stream, &now, &id));
  HOLDS(now == cudaStreamCaptureStatusActive && id != 0);
  OK(cudaStreamEndCapture(stream, &graph));
  size_t nodes = 0;
  OK(cudaGraphGetNodes(graph, nullptr, &nodes));
  HOLDS(nodes == 3);
  HOLDS(read() == 0 && calls == 0);  // recorded, not run

  cudaGraphExec_t executable = nullptr;
  OK(cudaGraphInstantiate(&executable, graph));
  OK(cudaGraphUpload(executable, stream));
  for (int i = 0; i < 3; ++i) OK(cudaGraphLaunch(executable, stream));
  OK(cudaStreamSynchronize(stream));
  HOLDS(read() == 3 && *pinned == 3 && calls == 3);
  OK(cudaGraphLaunch(executable, nullptr));
  OK(cudaDeviceSynchronize());
  HOLDS(read() == 4);

  // The same graph with another amount: the executable takes it over.
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  add<<<1, 1, 0, stream>>>(value, 100);
  OK(cudaMemcpyAsync(pinned, value, sizeof *value, cudaMemcpyDeviceToHost, stream));
  OK(cudaLaunchHostFunc(stream, count, nullptr));
  cudaGraph_t changed = nullptr;
  OK(cudaStreamEndCapture(stream, &changed));
  cudaGraphExecUpdateResultInfo update{};
  OK(cudaGraphExecUpdate(executable, changed, &update));
  HOLDS(update.result == cudaGraphExecUpdateSuccess);
  OK(cudaGraphLaunch(executable, stream));
  OK(cudaStreamSynchronize(stream));
  HOLDS(read() == 104);

  // A fork into another stream joins before the end.
  cudaEvent_t forked = nullptr, joined = nullptr;
  OK(cudaEventCreate(&forked));
  OK(cudaEventCreate(&joined));
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  OK(cudaEventRecord(forked, stream));
  OK(cudaStreamWaitEvent(side, forked, 0));
  HOLDS(status(side) == cudaStreamCaptureStatusActive);
  add<<<1, 1, 0, side>>>(value, 1000);
  OK(cudaEventRecord(joined, side));
  OK(cudaStreamWaitEvent(stream, joined, 0));
  add<<<1, 1, 0, stream>>>(value, 10000);
  cudaGraph_t forking = nullptr;
  OK(cudaStreamEndCapture(stream, &forking));
  cudaGraphExec_t forking_executable = nullptr;
  OK(cudaGraphInstantiate(&forking_executable, forking));
  OK(cudaGraphLaunch(forking_executable, stream));
  OK(cudaStreamSynchronize(stream));
  HOLDS(read() == 11104);

  // What cannot be recorded spoils the capture.
  void* memory = nullptr;
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  GIVES(cudaErrorStreamCaptureUnsupported, cudaMalloc(&memory, 4));
  GIVES(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  GIVES(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
  HOLDS(status(stream) == cudaStreamCaptureStatusInvalidated);
  add<<<1, 1, 0, stream>>>(value, 1);
  GIVES(cudaErrorStreamCaptureInvalidated, cudaGetLastError());
  GIVES(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
  HOLDS(graph == nullptr);
  HOLDS(read() == 11104);

  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  OK(cudaThreadExchangeStreamCaptureMode(&mode));
  HOLDS(mode == cudaStreamCaptureModeGlobal);
  OK(cudaThreadExchangeStreamCaptureMode(&mode));
  HOLDS(mode == cudaStreamCaptureModeRelaxed);

  OK(cudaGraphDestroy(changed));
  OK(cudaGraphDestroy(forking));
  OK(cudaGraphExecDestroy(executable));
  OK(cudaGraphExecDestroy(forking_executable));
  OK(cudaEventDestroy(forked));
  OK(cudaEventDestroy(joined));
  OK(cudaStreamDestroy(stream));
  OK(cudaStreamDestroy(side));
  OK(cudaFreeHost(pinned));
  OK(cudaFree(value));
  return finish();
}
