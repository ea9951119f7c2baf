#include "server/dispatch.h"

#include <array>
#include <new>

namespace vgpu {
namespace {

constexpr size_t kRequests = 256;  // larger than any number in wire::Request

std::array<const RequestRow*, kRequests> make_table() {
  std::array<const RequestRow*, kRequests> table{};
  for (const auto rows : {session_requests(), module_requests(), memory_requests(), stream_requests(),
                          graph_requests(), blas_requests(), texture_requests(), harness_requests()})
    for (const RequestRow& row : rows) table[static_cast<size_t>(row.op)] = &row;
  return table;
}

// Requests that the runtime library may still make when a call has returned, for the call's output.
bool uses_device_late(uint32_t op) {
  return op != static_cast<uint32_t>(wire::Request::kTakePrintf) &&
         op != static_cast<uint32_t>(wire::Request::kCallbackDone);
}

bool may(Role role, Sender sender) {
  return sender == Sender::kBoth || (role == Role::kHarness) == (sender == Sender::kHarness);
}

void serve_row(const RequestRow& row, Session& session, Bytes payload, Reply& reply) {
  try {
    row.serve(session, payload, reply);
  } catch (const std::bad_alloc&) {
    reply = Reply();
    session.refuse(reply, cuda::kMemoryAllocation,
                   "this machine has no memory left for the engine's own records");
  } catch (const std::exception& error) {
    reply = Reply();
    session.refuse(reply, cuda::kUnknown,
                   std::string("the engine could not serve a request: ") + error.what());
  }
}

}  // namespace

Reply serve(Session& session, Role role, const Message& message) {
  static const std::array<const RequestRow*, kRequests> table = make_table();
  const RequestRow* row = message.op < kRequests ? table[message.op] : nullptr;
  Reply reply;
  session.caller = message.caller;
  session.by_harness = role == Role::kHarness;
  if (!session.by_harness && session.call.stream != 0 && !session.call.open && uses_device_late(message.op))
    session.call.late_requests += 1;
  if (row == nullptr) {
    reply.error = cuda::kNotSupported;
  } else if (!may(role, row->sender)) {
    reply.error = cuda::kNotPermitted;
  } else if (session.sticky_error != 0 && row->after_error == AfterError::kRefused) {
    reply.error = session.sticky_error;
  } else {
    serve_row(*row, session, message.payload, reply);
  }
  if (role == Role::kProgram) {
    if (!session.printf_output.empty()) reply.flags |= wire::kPrintfPending;
    if (session.sticky_error != 0 && reply.error == session.sticky_error) reply.flags |= wire::kSticky;
  }
  return reply;
}

}  // namespace vgpu
