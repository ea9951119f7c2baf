// Requests about captures and graphs.
#include "server/dispatch.h"

namespace vgpu {
namespace {

// To the program, graphs of the harness do not exist.
bool refuse_harness_owned(const Session& session, uint64_t id, Reply& reply) {
  if (session.may_change(id)) return false;
  reply.error = cuda::kInvalidValue;
  return true;
}

void capture_begin(Session& session, const wire::CaptureBegin& in, Reply& reply) {
  reply.error = session.streams.begin_capture(in.stream, in.mode);
  if (session.by_harness && reply.error == 0) session.captured_for_harness = in.stream;
  session.note_capture();
}

void capture_end(Session& session, const wire::Id& in, Reply& reply) {
  if (in.id == session.captured_for_harness && !session.by_harness) {
    reply.error = cuda::kNotPermitted;
    return;
  }
  wire::Id graph{};
  reply.error = session.streams.end_capture(in.id, &graph.id);
  if (session.by_harness) session.captured_for_harness = 0;
  if (reply.error != 0) return;
  session.own(graph.id);
  reply.put(graph);
}

void capture_info(Session& session, const wire::Id& in, Reply& reply) {
  Streams::CaptureState state;
  reply.error = session.streams.capture_state(in.id, &state);
  if (reply.error == 0) reply.put(wire::CaptureInfo{state.status, 0, state.id});
}

void capture_depend(Session& session, const wire::CaptureDepend& in, Bytes nodes, Reply& reply) {
  std::vector<int> now(nodes.size() / sizeof(int32_t));
  if (in.count != now.size() || nodes.size() % sizeof(int32_t) != 0) {
    reply.error = cuda::kInvalidValue;
    return;
  }
  if (in.stream == session.captured_for_harness && session.captured_for_harness != 0) {
    reply.error = cuda::kNotPermitted;
    return;
  }
  std::copy_n(nodes.data(), nodes.size(), reinterpret_cast<uint8_t*>(now.data()));
  if (in.is_set != 0) reply.error = session.streams.set_capture_dependencies(in.stream, now);
  if (reply.error == 0) reply.error = session.streams.capture_dependencies(in.stream, &now);
  if (reply.error != 0) return;
  for (const int32_t node : now) reply.put(node);
}

void capture_event(Session& session, const wire::CaptureEvent& in, Reply& reply) {
  reply.error = session.streams.capture_event(in.stream, in.event, in.waits != 0);
}

void capture_allocate(Session& session, const wire::CaptureAllocate& in, Reply& reply) {
  const auto found = session.graph_memory.find(in.address);
  if (found == session.graph_memory.end() || !session.streams.is_capturing(in.stream))
    reply.error = cuda::kInvalidValue;
  else
    reply.error = session.streams.submit(in.stream, AllocateTask{found->second});
}

void capture_graph(Session& session, const wire::GraphLaunch& in, Reply& reply) {
  if (refuse_harness_owned(session, in.executable, reply)) return;
  reply.error = session.streams.capture_graph(in.stream, in.executable);
}

void capture_conditional(Session& session, const wire::CaptureConditional& in, Bytes graphs, Reply& reply) {
  std::vector<uint64_t> bodies(graphs.size() / sizeof(uint64_t));
  const bool has_bodies = in.kind == wire::ConditionalKind::kAssignDefault || !bodies.empty();
  if (in.count != bodies.size() || graphs.size() % sizeof(uint64_t) != 0 || !has_bodies ||
      in.kind > wire::ConditionalKind::kAssignDefault || session.conditions.count(in.condition) == 0) {
    reply.error = cuda::kInvalidValue;
    return;
  }
  std::copy_n(graphs.data(), graphs.size(), reinterpret_cast<uint8_t*>(bodies.data()));
  for (const uint64_t body : bodies)
    if (refuse_harness_owned(session, body, reply)) return;
  reply.error = session.streams.capture_conditional(in.stream, in.condition, in.kind, bodies);
}

void clone_graph(Session& session, const wire::Id& in, Reply& reply) {
  wire::Id clone{};
  if (refuse_harness_owned(session, in.id, reply)) return;
  reply.error = session.streams.clone_graph(in.id, &clone.id);
  if (reply.error == 0) reply.put(clone);
}

void reserve_memory(Session& session, const wire::Malloc& in, Reply& reply) {
  if (in.bytes == 0) {
    reply.error = cuda::kInvalidValue;
    return;
  }
  const std::string name =
      "cudaGraphAddMemAllocNode #" + std::to_string(++session.allocations_made[AllocKind::kDevice]);
  const std::shared_ptr<Reservation> reserved = session.memory.reserve(in.bytes, name);
  if (reserved == nullptr) {
    reply.error = cuda::kMemoryAllocation;
    return;
  }
  reserved->reserved_by = session.caller;
  session.graph_memory[reserved->base] = reserved;
  reply.put(wire::Address{reserved->base});
}

void unreserve_memory(Session& session, const wire::Address& in, Reply& reply) {
  if (session.graph_memory.erase(in.address) == 0) reply.error = cuda::kInvalidValue;
}

void graph_memory(Session& session, const wire::Id& in, Reply& reply) {
  if (in.id != 0) session.memory.reset_reserved_high();
  reply.put(session.memory.reserved_figures());
}

void create_condition(Session& session, const wire::ConditionalCreate& in, Reply& reply) {
  if (session.is_graded)
    return session.refuse(reply, cuda::kNotPermitted,
                          "conditional nodes of graphs are not available here: the launches of a "
                          "submission are known before it runs");
  wire::Id made{session.next_id++};
  session.conditions[made.id] = {in.first_value, in.first_value};
  reply.put(made);
}

// True where some launch of the graph needs more than a block may have; the reply is filled in.
bool needs_too_much(Session& session, uint64_t id, Reply& reply) {
  const Graph* graph = session.streams.find_graph(id);
  if (graph == nullptr) return false;
  LaunchEnvironment env = session.environment();
  for (const Graph::Node& node : graph->nodes) {
    const auto* task = std::get_if<LaunchTask>(node.task.get());
    std::string message;
    if (task == nullptr || check_launch(task->request, env, &message) != cuda::kLaunchOutOfResources)
      continue;
    session.refuse(reply, cuda::kLaunchOutOfResources, message);
    return true;
  }
  return false;
}

void instantiate(Session& session, const wire::GraphInstantiate& in, Reply& reply) {
  wire::Id executable{};
  if (refuse_harness_owned(session, in.graph, reply)) return;
  if (needs_too_much(session, in.graph, reply)) return;
  reply.error = session.streams.instantiate(in.graph, in.flags, &executable.id);
  if (reply.error != 0) return;
  session.own(executable.id);
  reply.put(executable);
}

void launch(Session& session, const wire::GraphLaunch& in, Reply& reply) {
  if (refuse_harness_owned(session, in.executable, reply)) return;
  if (session.make_room(reply)) reply.error = session.streams.launch(in.executable, in.stream);
}

void update(Session& session, const wire::GraphExecUpdate& in, Reply& reply) {
  if (refuse_harness_owned(session, in.executable, reply)) return;
  reply.error = session.streams.update(in.executable, in.graph);
}

void destroy_graph(Session& session, const wire::Id& in, Reply& reply) {
  if (refuse_harness_owned(session, in.id, reply)) return;
  reply.error = session.streams.destroy_graph(in.id);
}

void destroy_executable(Session& session, const wire::Id& in, Reply& reply) {
  if (refuse_harness_owned(session, in.id, reply)) return;
  reply.error = session.streams.destroy_executable(in.id);
}

void node_count(Session& session, const wire::Id& in, Reply& reply) {
  wire::Count out{};
  reply.error = session.streams.node_count(in.id, &out.value);
  if (reply.error == 0) reply.put(out);
}

const RequestRow kGraphRequests[] = {
    request<&capture_begin>(wire::Request::kCaptureBegin, Sender::kBoth),
    request<&capture_end>(wire::Request::kCaptureEnd, Sender::kBoth),
    request<&capture_info>(wire::Request::kCaptureInfo),
    request<&capture_depend>(wire::Request::kCaptureDepend),
    request<&capture_event>(wire::Request::kCaptureEvent),
    request<&capture_allocate>(wire::Request::kCaptureAllocate),
    request<&capture_graph>(wire::Request::kCaptureGraph),
    request<&capture_conditional>(wire::Request::kCaptureConditional),
    request<&clone_graph>(wire::Request::kGraphClone),
    request<&reserve_memory>(wire::Request::kGraphReserve),
    request<&unreserve_memory>(wire::Request::kGraphUnreserve),
    request<&graph_memory>(wire::Request::kGraphMemory),
    request<&create_condition>(wire::Request::kConditionalCreate),
    request<&instantiate>(wire::Request::kGraphInstantiate, Sender::kBoth),
    request<&launch>(wire::Request::kGraphLaunch, Sender::kBoth),
    request<&destroy_graph>(wire::Request::kGraphDestroy, Sender::kBoth),
    request<&destroy_executable>(wire::Request::kGraphExecDestroy, Sender::kBoth),
    request<&update>(wire::Request::kGraphExecUpdate),
    request<&node_count>(wire::Request::kGraphNodeCount, Sender::kBoth),
};

}  // namespace

std::span<const RequestRow> graph_requests() {
  return kGraphRequests;
}

}  // namespace vgpu
