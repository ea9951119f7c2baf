// Requests about captures and graphs.
#include "server/dispatch.h"

namespace vgpu {
namespace {

void capture_begin(Session& session, const wire::CaptureBegin& in, Reply& reply) {
  reply.error = session.streams.begin_capture(in.stream, in.mode);
}

void capture_end(Session& session, const wire::Id& in, Reply& reply) {
  wire::Id graph{};
  reply.error = session.streams.end_capture(in.id, &graph.id);
  if (reply.error == 0) reply.put(graph);
}

void capture_info(Session& session, const wire::Id& in, Reply& reply) {
  Streams::CaptureState state;
  reply.error = session.streams.capture_state(in.id, &state);
  if (reply.error == 0) reply.put(wire::CaptureInfo{state.status, 0, state.id});
}

void instantiate(Session& session, const wire::GraphInstantiate& in, Reply& reply) {
  wire::Id executable{};
  reply.error = session.streams.instantiate(in.graph, in.flags, &executable.id);
  if (reply.error == 0) reply.put(executable);
}

void launch(Session& session, const wire::GraphLaunch& in, Reply& reply) {
  if (session.make_room(reply)) reply.error = session.streams.launch(in.executable, in.stream);
}

void update(Session& session, const wire::GraphExecUpdate& in, Reply& reply) {
  reply.error = session.streams.update(in.executable, in.graph);
}

void destroy_graph(Session& session, const wire::Id& in, Reply& reply) {
  reply.error = session.streams.destroy_graph(in.id);
}

void destroy_executable(Session& session, const wire::Id& in, Reply& reply) {
  reply.error = session.streams.destroy_executable(in.id);
}

void node_count(Session& session, const wire::Id& in, Reply& reply) {
  wire::Count out{};
  reply.error = session.streams.node_count(in.id, &out.value);
  if (reply.error == 0) reply.put(out);
}

const RequestRow kGraphRequests[] = {
    request<&capture_begin>(wire::Request::kCaptureBegin),
    request<&capture_end>(wire::Request::kCaptureEnd),
    request<&capture_info>(wire::Request::kCaptureInfo),
    request<&instantiate>(wire::Request::kGraphInstantiate),
    request<&launch>(wire::Request::kGraphLaunch),
    request<&destroy_graph>(wire::Request::kGraphDestroy),
    request<&destroy_executable>(wire::Request::kGraphExecDestroy),
    request<&update>(wire::Request::kGraphExecUpdate),
    request<&node_count>(wire::Request::kGraphNodeCount),
};

}  // namespace

std::span<const RequestRow> graph_requests() {
  return kGraphRequests;
}

}  // namespace vgpu
