// Events. Handles are the engine's ids; times between them are modelled there.
#include "api.h"
#include "connection.h"

namespace {

using vgpu::Connection;
using vgpu::wire::Request;
namespace wire = vgpu::wire;

constexpr unsigned kEventFlags = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;

uint64_t id_of(cudaEvent_t event) {
  return reinterpret_cast<uint64_t>(event);
}

cudaError_t create_event(cudaEvent_t* out, unsigned flags) {
  if (out == nullptr || (flags & ~kEventFlags) != 0) return cudaErrorInvalidValue;
  if ((flags & cudaEventInterprocess) != 0 && (flags & cudaEventDisableTiming) == 0)
    return cudaErrorInvalidValue;
  wire::Id id{};
  const cudaError_t error = Connection::get().ask(Request::kEventCreate, wire::EventCreate{flags, 0}, &id);
  if (error == cudaSuccess) *out = reinterpret_cast<cudaEvent_t>(id.id);
  return error;
}

cudaError_t about_event(Request request, cudaEvent_t event) {
  if (event == nullptr) return cudaErrorInvalidResourceHandle;
  return Connection::get().ask(request, wire::Id{id_of(event)});
}

cudaError_t record_event(cudaEvent_t event, uint64_t stream) {
  if (event == nullptr) return cudaErrorInvalidResourceHandle;
  return Connection::get().ask(Request::kEventRecord, wire::EventRecord{id_of(event), stream});
}

}  // namespace

VGPU_ENTRY(cudaEventCreate, (cudaEvent_t * event), (event)) {
  return create_event(event, cudaEventDefault);
}

VGPU_ENTRY(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags), (event, flags)) {
  return create_event(event, flags);
}

VGPU_ENTRY(cudaEventDestroy, (cudaEvent_t event), (event)) {
  return about_event(Request::kEventDestroy, event);
}

VGPU_ENTRY(cudaEventSynchronize, (cudaEvent_t event), (event)) {
  return about_event(Request::kEventSync, event);
}

VGPU_ENTRY(cudaEventQuery, (cudaEvent_t event), (event)) {
  return about_event(Request::kEventQuery, event);
}

VGPU_TWINS(cudaEventRecord, _ptsz, (cudaEvent_t event, cudaStream_t stream), (event, stream)) {
  return record_event(event, on(stream));
}

VGPU_TWINS(cudaEventRecordWithFlags, _ptsz, (cudaEvent_t event, cudaStream_t stream, unsigned flags),
           (event, stream, flags)) {
  if (flags > cudaEventRecordExternal) return cudaErrorInvalidValue;
  return record_event(event, on(stream));
}

VGPU_ENTRY(cudaEventElapsedTime, (float* milliseconds, cudaEvent_t start, cudaEvent_t end),
           (milliseconds, start, end)) {
  if (milliseconds == nullptr) return cudaErrorInvalidValue;
  if (start == nullptr || end == nullptr) return cudaErrorInvalidResourceHandle;
  wire::Milliseconds answer{};
  const cudaError_t error =
      Connection::get().ask(Request::kEventElapsed, wire::EventElapsed{id_of(start), id_of(end)}, &answer);
  if (error == cudaSuccess) *milliseconds = answer.value;
  return error;
}
