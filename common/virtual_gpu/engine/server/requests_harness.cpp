// Requests that only the trusted harness may make: named memory, bounds of calls, reports, options.
#include "device/transfer.h"
#include "server/dispatch.h"

namespace vgpu {
namespace {

bool is_power_of_two(uint64_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}

void allocate_for_harness(Session& session, const wire::HarnessAlloc& in, Bytes name, Reply& reply) {
  if (in.unused >= in.bytes || !is_power_of_two(in.align)) {
    reply.error = cuda::kInvalidValue;
    return;
  }
  Allocation* a = session.memory.allocate(in.bytes, AllocKind::kDevice, std::string(name.begin(), name.end()),
                                          in.align, in.unused);
  if (a == nullptr) {
    reply.error = cuda::kMemoryAllocation;
    reply.put_text("out of device memory: " + std::to_string(in.bytes - in.unused) + " bytes asked for, " +
                   std::to_string(session.memory.limit() - session.memory.used()) + " free of " +
                   std::to_string(session.memory.limit()));
    return;
  }
  a->from_program = false;
  reply.put(wire::Address{a->base});
}

void release_for_harness(Session& session, const wire::Address& in, Reply& reply) {
  const Allocation* a = session.memory.find(in.address);
  if (a == nullptr || a->from_program ||
      session.memory.release(in.address, AllocKind::kDevice, "the harness") != DeviceMemory::FreeResult::kOk)
    reply.error = cuda::kInvalidValue;
}

void initialise(Session& session, const wire::Range& in, Reply& reply) {
  Allocation* a = session.memory.find(in.address);
  if (a == nullptr || in.bytes > a->end() - in.address) {
    reply.error = cuda::kInvalidValue;
    return;
  }
  session.memory.mark_written(*a, in.address, in.bytes);
}

void report(Session& session, Reply& reply) {
  reply.put_text(session.json());
}

void reset(Session& session, Reply&) {
  session.report.clear();
  session.findings.clear();
  session.call = {};
  session.l2.clear();  // each call of a harness is modelled from a cold L2
}

void begin_call(Session& session, const wire::Id& in, Reply& reply) {
  if (session.harness_owned.count(in.id) == 0) {
    reply.error = cuda::kInvalidResourceHandle;
    return;
  }
  session.is_graded = true;
  session.call = {};
  // What a program keeps from one call to the next may still lack what was left out.
  session.sample.is_torn &= !session.memory.leaks().empty();
  session.sample.instructions_run = 0;
  session.call.stream = in.id;
  session.call.open = true;
  reply.error = session.streams.bound_call(in.id, true);
  session.note_capture();
}

void end_call(Session& session, Reply&) {
  session.note_capture();
  if (session.streams.bound_call(session.call.stream, false) != 0) session.call.destroyed = true;
  session.call.open = false;
}

void sync(Session& session, Reply& reply) {
  const Progress progress = session.scheduler.run_all_but_callbacks();
  if (progress.state == Progress::State::kFailed) session.fail(progress.error);
  if (progress.state == Progress::State::kCallback) reply.error = cuda::kNotReady;
  if (session.sticky_error != 0) reply.error = session.sticky_error;
}

void option(Session& session, Bytes text, Reply& reply) {
  const std::string given(text.begin(), text.end());
  const size_t equals = given.find('=');
  std::string error = "expected key=value";
  if (equals == std::string::npos ||
      !session.config.options.set(given.substr(0, equals), given.substr(equals + 1), &error)) {
    reply.error = cuda::kInvalidValue;
    reply.put_text("option \"" + given + "\": " + error);
  }
}

const RequestRow kHarnessRequests[] = {
    request<&allocate_for_harness>(wire::Request::kHarnessAlloc, Sender::kHarness, AfterError::kServed),
    request<&release_for_harness>(wire::Request::kHarnessFree, Sender::kHarness, AfterError::kServed),
    request<&initialise>(wire::Request::kHarnessInitialise, Sender::kHarness, AfterError::kServed),
    request<&report>(wire::Request::kHarnessReport, Sender::kHarness, AfterError::kServed),
    request<&reset>(wire::Request::kHarnessReset, Sender::kHarness, AfterError::kServed),
    request<&sync>(wire::Request::kHarnessSync, Sender::kHarness, AfterError::kServed),
    request<&begin_call>(wire::Request::kHarnessBeginCall, Sender::kHarness, AfterError::kServed),
    request<&end_call>(wire::Request::kHarnessEndCall, Sender::kHarness, AfterError::kServed),
    request<&option>(wire::Request::kHarnessOption, Sender::kHarness, AfterError::kServed),
};

}  // namespace

std::span<const RequestRow> harness_requests() {
  return kHarnessRequests;
}

}  // namespace vgpu
