// Requests that queue work and wait for it: launches, host functions, streams, events.
#include "server/dispatch.h"

namespace vgpu {
namespace {

// The launch that a message describes; false, with the reply filled in, where it describes none.
bool read_launch(Session& session, const wire::Launch& in, Bytes params, LaunchTask* task, Reply& reply) {
  const auto function = session.functions.find(in.function);
  if (function == session.functions.end()) {
    reply.error = cuda::kInvalidDeviceFunction;
    return false;
  }
  KernelInfo* kernel = function->second.kernel;
  if (in.param_bytes != params.size() || params.size() != kernel->param_bytes) {
    reply.error = cuda::kInvalidValue;
    return false;
  }
  task->module = function->second.module;
  LaunchRequest& request = task->request;
  request.module = task->module.get();
  request.kernel = kernel;
  request.grid = {in.grid[0], in.grid[1], in.grid[2]};
  request.block = {in.block[0], in.block[1], in.block[2]};
  request.cluster = {in.cluster[0], in.cluster[1], in.cluster[2]};
  request.dynamic_shared = in.dynamic_shared;
  request.cooperative = in.cooperative != 0;
  request.params.assign(params.begin(), params.end());
  request.stream = in.stream;
  request.index = -1;  // until it runs
  return true;
}

void launch_kernel(Session& session, const wire::Launch& in, Bytes params, Reply& reply) {
  LaunchTask task;
  if (!read_launch(session, in, params, &task, reply)) return;
  LaunchEnvironment env = session.environment();
  std::string message;
  const int error = check_launch(task.request, env, &message);
  const bool is_captured = session.streams.is_capturing(in.stream);
  // A graph takes a launch of too many registers, and cannot be instantiated then.
  if (error != 0 && !(is_captured && error == cuda::kLaunchOutOfResources)) {
    if (is_captured) session.streams.invalidate_capture(in.stream);
    return session.refuse(reply, error, message);
  }
  if (!session.make_room(reply)) return;
  reply.error = session.streams.submit(in.stream, std::move(task));
}

// The same question for a node of a graph, when it is added.
void check_node(Session& session, const wire::Launch& in, Bytes params, Reply& reply) {
  LaunchTask task;
  if (!read_launch(session, in, params, &task, reply)) return;
  LaunchEnvironment env = session.environment();
  std::string message;
  const int error = check_launch(task.request, env, &message);
  if (error == cuda::kInvalidValue || error == cuda::kInvalidClusterSize)
    session.refuse(reply, error, message);
}

void host_function(Session& session, const wire::HostFunction& in, Reply& reply) {
  if (in.function == 0) {
    reply.error = cuda::kInvalidValue;
    return;
  }
  if (!session.make_room(reply)) return;
  reply.error = session.streams.submit(in.stream, HostTask{in.function, in.user_data});
}

void stream_create(Session& session, const wire::StreamCreate& in, Reply& reply) {
  const uint64_t id = session.streams.create_stream(in.flags);
  session.own(id);
  reply.put(wire::Id{id});
}

void stream_destroy(Session& session, const wire::Id& in, Reply& reply) {
  if (!session.may_change(in.id)) {  // as if it were done: the call's report says that it was
    session.call.destroyed = true;
    return;
  }
  reply.error = session.streams.destroy_stream(in.id);
}

// The functions of the API that wait, as a reader of the report knows them.
constexpr char kStreamSync[] = "cudaStreamSynchronize", kStreamQuery[] = "cudaStreamQuery";
constexpr char kEventSync[] = "cudaEventSynchronize", kEventQuery[] = "cudaEventQuery";

// A wait on one object: an error of the call itself, or how far the work got.
template <int (Streams::*wait)(uint64_t, Progress*), const char* name>
void wait_for(Session& session, const wire::Id& in, Reply& reply) {
  session.call.note_wait(name, session.caller);
  Progress progress;
  reply.error = (session.streams.*wait)(in.id, &progress);
  if (reply.error == 0) session.answer(progress, reply);
}

void device_sync(Session& session, Reply& reply) {
  session.call.note_wait("cudaDeviceSynchronize", session.caller);
  Progress progress;
  reply.error = session.streams.sync_device(&progress);
  if (reply.error == 0) session.answer(progress, reply);
}

void stream_wait(Session& session, const wire::StreamWait& in, Reply& reply) {
  if (session.make_room(reply)) reply.error = session.streams.stream_wait(in.stream, in.event);
  session.note_capture();
}

void event_create(Session& session, const wire::EventCreate& in, Reply& reply) {
  reply.put(wire::Id{session.streams.create_event(in.flags)});
}

void event_destroy(Session& session, const wire::Id& in, Reply& reply) {
  reply.error = session.streams.destroy_event(in.id);
}

void event_record(Session& session, const wire::EventRecord& in, Reply& reply) {
  if (session.make_room(reply)) reply.error = session.streams.record_event(in.event, in.stream);
}

void event_elapsed(Session& session, const wire::EventElapsed& in, Reply& reply) {
  wire::Milliseconds out{};
  reply.error = session.streams.elapsed(in.start, in.end, &out.value);
  // How long a kernel took may depend on what it has read.
  if (session.call.open) session.report.traffic.to_host_bytes += sizeof out.value;
  if (reply.error == 0) reply.put(out);
}

const RequestRow kStreamRequests[] = {
    request<&launch_kernel>(wire::Request::kLaunch),
    request<&check_node>(wire::Request::kCheckNode),
    request<&host_function>(wire::Request::kHostFunction),
    request<&stream_create>(wire::Request::kStreamCreate, Sender::kBoth),
    request<&stream_destroy>(wire::Request::kStreamDestroy),
    request<&wait_for<&Streams::sync_stream, kStreamSync>>(wire::Request::kStreamSync),
    request<&wait_for<&Streams::query_stream, kStreamQuery>>(wire::Request::kStreamQuery),
    request<&stream_wait>(wire::Request::kStreamWait),
    request<&device_sync>(wire::Request::kDeviceSync),
    request<&event_create>(wire::Request::kEventCreate),
    request<&event_destroy>(wire::Request::kEventDestroy),
    request<&event_record>(wire::Request::kEventRecord),
    request<&wait_for<&Streams::sync_event, kEventSync>>(wire::Request::kEventSync),
    request<&wait_for<&Streams::query_event, kEventQuery>>(wire::Request::kEventQuery),
    request<&event_elapsed>(wire::Request::kEventElapsed),
};

}  // namespace

std::span<const RequestRow> stream_requests() {
  return kStreamRequests;
}

}  // namespace vgpu
