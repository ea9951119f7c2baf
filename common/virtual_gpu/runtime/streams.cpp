#include "streams.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "api.h"
#include "callbacks.h"
#include "capture.h"
#include "connection.h"

namespace vgpu {

namespace {

using wire::Request;

constexpr int kLeastPriority = 0, kGreatestPriority = -5;

struct StreamFacts {
  unsigned flags;
  int priority;
};

std::mutex facts_mutex;
// Never destroyed: see Connection::get.
std::map<uint64_t, StreamFacts>& facts() {
  static auto* const known = new std::map<uint64_t, StreamFacts>;
  return *known;
}

// Each host thread has a default stream of its own. The first thread that asks gets the engine's ready-made
// one, so that most programs need no further stream.
std::atomic<uint64_t> generation{1};  // raised by a reset: streams of before are gone
std::atomic<bool> ready_made_taken{false};
thread_local uint64_t own_stream = 0, own_generation = 0;

uint64_t own_default_stream() {
  if (own_generation == generation) return own_stream;
  own_generation = generation;
  own_stream = wire::kPerThreadStream;
  if (ready_made_taken.exchange(true)) {
    wire::Id id{};
    const cudaError_t error = Connection::get().ask(Request::kStreamCreate, wire::StreamCreate{0, 0}, &id);
    if (error == cudaSuccess) own_stream = id.id;
  }
  return own_stream;
}

}  // namespace

uint64_t StreamChoice::on(cudaStream_t stream) const {
  if (stream == cudaStreamPerThread || (stream == nullptr && null_stream == NullStream::kPerThread)) {
    return own_default_stream();
  }
  if (stream == nullptr || stream == cudaStreamLegacy) return wire::kLegacyStream;
  return reinterpret_cast<uint64_t>(stream);
}

void forget_streams() {
  const std::lock_guard<std::mutex> lock(facts_mutex);
  facts().clear();
  ++generation;
  ready_made_taken = false;
}

namespace {

cudaError_t create_stream(cudaStream_t* out, unsigned flags, int priority) {
  if (out == nullptr || flags > cudaStreamNonBlocking) return cudaErrorInvalidValue;
  priority = priority > kLeastPriority      ? kLeastPriority
             : priority < kGreatestPriority ? kGreatestPriority
                                            : priority;
  wire::Id id{};
  const cudaError_t error =
      Connection::get().ask(Request::kStreamCreate, wire::StreamCreate{flags, priority}, &id);
  if (error != cudaSuccess) return error;
  *out = reinterpret_cast<cudaStream_t>(id.id);
  const std::lock_guard<std::mutex> lock(facts_mutex);
  facts()[id.id] = {flags, priority};
  return cudaSuccess;
}

// Flags and priority of a stream; the special streams have neither.
cudaError_t find_facts(cudaStream_t stream, StreamFacts* out) {
  const auto id = reinterpret_cast<uint64_t>(stream);
  *out = {cudaStreamDefault, kLeastPriority};
  if (id <= wire::kPerThreadStream) return cudaSuccess;
  const std::lock_guard<std::mutex> lock(facts_mutex);
  const auto known = facts().find(id);
  if (known == facts().end()) return cudaErrorInvalidResourceHandle;
  *out = known->second;
  return cudaSuccess;
}

template <class T, class Read>
cudaError_t read_fact(cudaStream_t stream, T* out, Read read) {
  if (out == nullptr) return cudaErrorInvalidValue;
  StreamFacts known;
  const cudaError_t error = find_facts(stream, &known);
  if (error == cudaSuccess) *out = read(known);
  return error;
}

cudaError_t enqueue_host_function(uint64_t stream, cudaHostFn_t function, void* user_data) {
  const cudaError_t error = Connection::get().ask(
      Request::kHostFunction, wire::HostFunction{stream, reinterpret_cast<uint64_t>(function),
                                                 reinterpret_cast<uint64_t>(user_data)});
  if (error != cudaSuccess) return error;
  if (is_capturing(stream))
    note_captured_callback();
  else
    expect_callback(stream);
  return cudaSuccess;
}

// cudaStreamAddCallback hands its function more than a host function gets.
struct StreamCallback {
  cudaStreamCallback_t function;
  cudaStream_t stream;
  void* user_data;
};

void CUDART_CB run_stream_callback(void* data) {
  const std::unique_ptr<StreamCallback> callback(static_cast<StreamCallback*>(data));
  callback->function(callback->stream, cudaSuccess, callback->user_data);
}

}  // namespace

}  // namespace vgpu

using vgpu::Connection;
using vgpu::wire::Request;
namespace wire = vgpu::wire;

VGPU_ENTRY(cudaStreamCreate, (cudaStream_t * stream), (stream)) {
  return vgpu::create_stream(stream, cudaStreamDefault, vgpu::kLeastPriority);
}

VGPU_ENTRY(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags), (stream, flags)) {
  return vgpu::create_stream(stream, flags, vgpu::kLeastPriority);
}

VGPU_ENTRY(cudaStreamCreateWithPriority, (cudaStream_t * stream, unsigned flags, int priority),
           (stream, flags, priority)) {
  return vgpu::create_stream(stream, flags, priority);
}

VGPU_ENTRY(cudaStreamDestroy, (cudaStream_t stream), (stream)) {
  const auto id = reinterpret_cast<uint64_t>(stream);
  if (id <= wire::kPerThreadStream) return cudaErrorInvalidResourceHandle;
  const cudaError_t error = Connection::get().ask(Request::kStreamDestroy, wire::Id{id});
  if (error == cudaSuccess) {
    const std::lock_guard<std::mutex> lock(vgpu::facts_mutex);
    vgpu::facts().erase(id);
  }
  return error;
}

VGPU_ENTRY(cudaDeviceGetStreamPriorityRange, (int* least, int* greatest), (least, greatest)) {
  if (least != nullptr) *least = vgpu::kLeastPriority;
  if (greatest != nullptr) *greatest = vgpu::kGreatestPriority;
  return cudaSuccess;
}

VGPU_TWINS(cudaStreamGetFlags, _ptsz, (cudaStream_t stream, unsigned* flags), (stream, flags)) {
  return vgpu::read_fact(stream, flags, [](const vgpu::StreamFacts& known) { return known.flags; });
}

VGPU_TWINS(cudaStreamGetPriority, _ptsz, (cudaStream_t stream, int* priority), (stream, priority)) {
  return vgpu::read_fact(stream, priority, [](const vgpu::StreamFacts& known) { return known.priority; });
}

VGPU_TWINS(cudaStreamGetDevice, _ptsz, (cudaStream_t stream, int* device), (stream, device)) {
  return vgpu::read_fact(stream, device, [](const vgpu::StreamFacts&) { return 0; });
}

VGPU_TWINS(cudaStreamGetId, _ptsz, (cudaStream_t stream, unsigned long long* id), (stream, id)) {
  if (id == nullptr) return cudaErrorInvalidValue;
  *id = on(stream);
  return cudaSuccess;
}

VGPU_TWINS(cudaStreamSynchronize, _ptsz, (cudaStream_t stream), (stream)) {
  return Connection::get().ask(Request::kStreamSync, wire::Id{on(stream)});
}

VGPU_TWINS(cudaStreamQuery, _ptsz, (cudaStream_t stream), (stream)) {
  return Connection::get().ask(Request::kStreamQuery, wire::Id{on(stream)});
}

VGPU_TWINS(cudaStreamWaitEvent, _ptsz, (cudaStream_t stream, cudaEvent_t event, unsigned flags),
           (stream, event, flags)) {
  if (flags > cudaEventWaitExternal) return cudaErrorInvalidValue;
  if (event == nullptr) return cudaErrorInvalidResourceHandle;
  return Connection::get().ask(Request::kStreamWait,
                               wire::StreamWait{on(stream), reinterpret_cast<uint64_t>(event)});
}

VGPU_TWINS(cudaLaunchHostFunc, _ptsz, (cudaStream_t stream, cudaHostFn_t function, void* user_data),
           (stream, function, user_data)) {
  if (function == nullptr) return cudaErrorInvalidValue;
  return vgpu::enqueue_host_function(on(stream), function, user_data);
}

VGPU_TWINS(cudaStreamAddCallback, _ptsz,
           (cudaStream_t stream, cudaStreamCallback_t callback, void* user_data, unsigned flags),
           (stream, callback, user_data, flags)) {
  if (callback == nullptr || flags != 0) return cudaErrorInvalidValue;
  if (vgpu::is_capturing(on(stream))) return cudaErrorStreamCaptureUnsupported;
  auto data = std::make_unique<vgpu::StreamCallback>(vgpu::StreamCallback{callback, stream, user_data});
  const cudaError_t error = vgpu::enqueue_host_function(on(stream), vgpu::run_stream_callback, data.get());
  if (error == cudaSuccess) data.release();  // it frees itself when it has run
  return error;
}

VGPU_TWINS(cudaStreamAttachMemAsync, _ptsz, (cudaStream_t stream, void*, size_t, unsigned),
           (stream, nullptr, 0, 0)) {
  vgpu::StreamFacts known;
  return vgpu::find_facts(stream, &known);
}
