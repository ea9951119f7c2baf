// Streams, events and captured graphs of the driver API: the handles are the runtime API's.
#include <memory>

#include "driver/driver.h"

namespace {

using vgpu::answer;

// The status of a callback has another type in each API.
struct DriverCallback {
  CUstreamCallback function;
  CUstream stream;
  void* user_data;
};

void CUDART_CB run_driver_callback(cudaStream_t, cudaError_t status, void* data) {
  const std::unique_ptr<DriverCallback> callback(static_cast<DriverCallback*>(data));
  callback->function(callback->stream, answer(status), callback->user_data);
}

}  // namespace

VGPU_DRIVER(cuStreamCreate, kContext, (CUstream * stream, unsigned flags), (stream, flags)) {
  return answer(cudaStreamCreateWithFlags(stream, flags));
}

VGPU_DRIVER(cuStreamCreateWithPriority, kContext, (CUstream * stream, unsigned flags, int priority),
            (stream, flags, priority)) {
  return answer(cudaStreamCreateWithPriority(stream, flags, priority));
}

VGPU_DRIVER(cuStreamDestroy_v2, kContext, (CUstream stream), (stream)) {
  return answer(cudaStreamDestroy(stream));
}

VGPU_DRIVER_TWINS(cuStreamSynchronize, _ptsz, (CUstream stream), (stream)) {
  return answer(cudaStreamSynchronize(stream_of(stream)));
}

VGPU_DRIVER_TWINS(cuStreamQuery, _ptsz, (CUstream stream), (stream)) {
  return answer(cudaStreamQuery(stream_of(stream)));
}

VGPU_DRIVER_TWINS(cuStreamWaitEvent, _ptsz, (CUstream stream, CUevent event, unsigned flags),
                  (stream, event, flags)) {
  return answer(cudaStreamWaitEvent(stream_of(stream), event, flags));
}

VGPU_DRIVER_TWINS(cuStreamGetFlags, _ptsz, (CUstream stream, unsigned* flags), (stream, flags)) {
  return answer(cudaStreamGetFlags(stream, flags));
}

VGPU_DRIVER_TWINS(cuStreamGetPriority, _ptsz, (CUstream stream, int* priority), (stream, priority)) {
  return answer(cudaStreamGetPriority(stream, priority));
}

VGPU_DRIVER_TWINS(cuStreamGetId, _ptsz, (CUstream stream, unsigned long long* id), (stream, id)) {
  return answer(cudaStreamGetId(stream_of(stream), id));
}

VGPU_DRIVER_TWINS(cuStreamGetDevice, _ptsz, (CUstream stream, CUdevice* device), (stream, device)) {
  return answer(cudaStreamGetDevice(stream, device));
}

VGPU_DRIVER_TWINS(cuStreamGetCtx, _ptsz, (CUstream, CUcontext* context), (nullptr, context)) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *context = vgpu::current_context();
  return CUDA_SUCCESS;
}

VGPU_DRIVER_TWINS(cuStreamAddCallback, _ptsz,
                  (CUstream stream, CUstreamCallback callback, void* user_data, unsigned flags),
                  (stream, callback, user_data, flags)) {
  if (callback == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto data = std::make_unique<DriverCallback>(DriverCallback{callback, stream, user_data});
  const cudaError_t error = cudaStreamAddCallback(stream_of(stream), run_driver_callback, data.get(), flags);
  if (error == cudaSuccess) data.release();  // it frees itself when it has run
  return answer(error);
}

VGPU_DRIVER_TWINS(cuLaunchHostFunc, _ptsz, (CUstream stream, CUhostFn function, void* user_data),
                  (stream, function, user_data)) {
  return answer(cudaLaunchHostFunc(stream_of(stream), function, user_data));
}

VGPU_DRIVER_TWINS(cuStreamBeginCapture_v2, _ptsz, (CUstream stream, CUstreamCaptureMode mode),
                  (stream, mode)) {
  return answer(cudaStreamBeginCapture(stream_of(stream), static_cast<cudaStreamCaptureMode>(mode)));
}

VGPU_DRIVER_TWINS(cuStreamEndCapture, _ptsz, (CUstream stream, CUgraph* graph), (stream, graph)) {
  return answer(cudaStreamEndCapture(stream_of(stream), graph));
}

VGPU_DRIVER_TWINS(cuStreamIsCapturing, _ptsz, (CUstream stream, CUstreamCaptureStatus* status),
                  (stream, status)) {
  return answer(cudaStreamIsCapturing(stream_of(stream), reinterpret_cast<cudaStreamCaptureStatus*>(status)));
}

VGPU_DRIVER(cuGraphInstantiateWithFlags, kContext,
            (CUgraphExec * executable, CUgraph graph, unsigned long long flags), (executable, graph, flags)) {
  return answer(cudaGraphInstantiateWithFlags(executable, graph, flags));
}

VGPU_DRIVER_TWINS(cuGraphLaunch, _ptsz, (CUgraphExec executable, CUstream stream), (executable, stream)) {
  return answer(cudaGraphLaunch(executable, stream_of(stream)));
}

VGPU_DRIVER(cuGraphDestroy, kContext, (CUgraph graph), (graph)) {
  return answer(cudaGraphDestroy(graph));
}

VGPU_DRIVER(cuGraphExecDestroy, kContext, (CUgraphExec executable), (executable)) {
  return answer(cudaGraphExecDestroy(executable));
}

VGPU_DRIVER(cuEventCreate, kContext, (CUevent * event, unsigned flags), (event, flags)) {
  return answer(cudaEventCreateWithFlags(event, flags));
}

VGPU_DRIVER(cuEventDestroy_v2, kContext, (CUevent event), (event)) {
  return answer(cudaEventDestroy(event));
}

VGPU_DRIVER(cuEventSynchronize, kContext, (CUevent event), (event)) {
  return answer(cudaEventSynchronize(event));
}

VGPU_DRIVER(cuEventQuery, kContext, (CUevent event), (event)) {
  return answer(cudaEventQuery(event));
}

VGPU_DRIVER(cuEventElapsedTime_v2, kContext, (float* milliseconds, CUevent start, CUevent end),
            (milliseconds, start, end)) {
  return answer(cudaEventElapsedTime(milliseconds, start, end));
}

VGPU_DRIVER(cuEventElapsedTime, kContext, (float* milliseconds, CUevent start, CUevent end),
            (milliseconds, start, end)) {
  return answer(cudaEventElapsedTime(milliseconds, start, end));
}

VGPU_DRIVER_TWINS(cuEventRecord, _ptsz, (CUevent event, CUstream stream), (event, stream)) {
  return answer(cudaEventRecord(event, stream_of(stream)));
}

VGPU_DRIVER_TWINS(cuEventRecordWithFlags, _ptsz, (CUevent event, CUstream stream, unsigned flags),
                  (event, stream, flags)) {
  return answer(cudaEventRecordWithFlags(event, stream_of(stream), flags));
}
