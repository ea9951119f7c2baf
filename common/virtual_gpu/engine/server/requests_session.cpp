// Requests about the session as a whole: hello, device printf, faults, limits, reset.
#include <algorithm>
#include <cctype>
#include <cstdio>

#include "checks/host_findings.h"
#include "device/transfer.h"
#include "server/dispatch.h"

namespace vgpu {
namespace {

constexpr uint32_t kStackLimit = 0;       // cudaLimitStackSize
constexpr uint64_t kMostStack = 522240;   // of a thread, on an H200
constexpr size_t kLongestName = 80;       // of a function of the API
constexpr size_t kPrintfPiece = 1 << 20;  // of device printf text in one reply

void take_printf(Session& session, Reply& reply) {
  const size_t bytes = std::min(session.printf_output.size(), kPrintfPiece);
  reply.put_text(session.printf_output.substr(0, bytes));
  session.printf_output.erase(0, bytes);
}

void callback_done(Session& session, const wire::HostCallback& in, Reply& reply) {
  if (!session.scheduler.callback_done(in.token)) reply.error = cuda::kInvalidValue;
}

void host_fault(Session& session, const wire::HostFault& in, Reply&) {
  session.host_faulted = true;
  Finding finding = checks::host_dereference(in.address, in.is_write, session.memory);
  const std::string module(in.module, strnlen(in.module, sizeof in.module));
  session.add_finding(std::move(finding),
                      {in.module_offset, session.host_code.add_module(module), wire::Api::kRuntime});
}

void set_limit(Session& session, const wire::Limit& in, Reply& reply) {
  if (in.limit >= std::size(kDefaultLimits)) {
    reply.error = cuda::kInvalidValue;
    return;
  }
  if (in.limit == kMallocHeapLimit && !session.memory.heap().set_limit(in.value))
    return session.refuse(reply, cuda::kInvalidValue,
                          "cudaDeviceSetLimit(cudaLimitMallocHeapSize) comes too late: a kernel that uses "
                          "malloc has been launched");
  if (in.limit == kStackLimit && in.value > kMostStack)
    return session.refuse(
        reply, cuda::kInvalidValue,
        "cudaDeviceSetLimit(cudaLimitStackSize) allows at most " + std::to_string(kMostStack) + " bytes");
  session.limits[in.limit] = in.limit == kStackLimit ? (in.value + 15) / 16 * 16 : in.value;
}

void get_limit(Session& session, const wire::Limit& in, Reply& reply) {
  if (in.limit >= std::size(kDefaultLimits)) {
    reply.error = cuda::kInvalidValue;
    return;
  }
  reply.put(wire::Limit{in.limit, 0, session.limit(in.limit)});
}

void mem_info(Session& session, Reply& reply) {
  reply.put(wire::MemInfo{session.memory.limit() - session.memory.used(), session.memory.limit()});
}

void code_module(Session& session, Bytes path, Reply& reply) {
  reply.put(wire::Id{session.host_code.add_module(std::string(path.begin(), path.end()))});
}

// The sentence is made here: a report holds no words of a program's.
void refused(Session& session, Bytes function, Reply& reply) {
  const std::string name(function.begin(), function.end());
  const bool is_name = std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
  const bool is_runtime = name.starts_with("cuda");
  if (!name.starts_with("cu") || name.size() > kLongestName || !is_name) {
    reply.error = cuda::kInvalidValue;
    return;
  }
  session.refused = true;
  session.report.add_message(name + " is not supported here and returns " +
                             (is_runtime ? "cudaErrorNotSupported" : "CUDA_ERROR_NOT_SUPPORTED"));
}

// Modules are unloaded one by one by the runtime library, which knows how to load them again.
void device_reset(Session& session, Reply& reply) {
  Progress progress;
  reply.error = session.streams.sync_device(&progress);
  if (reply.error != 0 || !progress.ok()) return session.answer(progress, reply);
  session.call.destroyed = session.call.stream != 0;
  session.streams.reset();
  session.graph_memory.clear();
  session.conditions.clear();
  session.memory.release_program_memory();
  session.frees_queued.clear();
  session.limits.clear();
}

const RequestRow kSessionRequests[] = {
    request<&take_printf>(wire::Request::kTakePrintf, Sender::kProgram, AfterError::kServed),
    request<&callback_done>(wire::Request::kCallbackDone, Sender::kProgram, AfterError::kServed),
    request<&host_fault>(wire::Request::kHostFault, Sender::kProgram, AfterError::kServed),
    request<&device_reset>(wire::Request::kDeviceReset),
    request<&set_limit>(wire::Request::kSetLimit),
    request<&get_limit>(wire::Request::kGetLimit),
    request<&mem_info>(wire::Request::kMemInfo, Sender::kBoth),
    request<&code_module>(wire::Request::kCodeModule, Sender::kProgram, AfterError::kServed),
    request<&refused>(wire::Request::kRefused, Sender::kProgram, AfterError::kServed),
};

}  // namespace

std::span<const RequestRow> session_requests() {
  return kSessionRequests;
}

}  // namespace vgpu
