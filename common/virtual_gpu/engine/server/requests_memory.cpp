// Requests about memory: allocation, freeing, copies, fills, pointer queries.
#include <string>

#include "checks/host_findings.h"
#include "device/transfer.h"
#include "server/dispatch.h"

namespace vgpu {
namespace {

// Up to here a copy from pageable memory is queued with its bytes, as CUDA does; longer ones wait.
constexpr uint64_t kQueuedCopyBytes = 64 << 10;

AllocKind kind_of(wire::MemoryKind kind) {
  constexpr AllocKind kKinds[] = {AllocKind::kDevice, AllocKind::kPinned, AllocKind::kManaged,
                                  AllocKind::kDevice, AllocKind::kPinned};
  return kKinds[static_cast<uint32_t>(kind)];
}

bool is_known(wire::MemoryKind kind) {
  return static_cast<uint32_t>(kind) <= static_cast<uint32_t>(wire::MemoryKind::kRegistered);
}

const char* call_of(wire::MemoryKind kind, wire::Api api) {
  constexpr const char* kCalls[][5] = {
      {"cudaMalloc", "cudaMallocHost", "cudaMallocManaged", "cudaMallocArray", "cudaHostRegister"},
      {"cuMemAlloc", "cuMemAllocHost", "cuMemAllocManaged", "cuArrayCreate", "cuMemHostRegister"}};
  return kCalls[api == wire::Api::kDriver][static_cast<uint32_t>(kind)];
}

std::string in_megabytes(uint64_t bytes) {
  return std::to_string((bytes + (1 << 19)) >> 20) + " MiB";
}

void tell_no_room(Session& session, uint64_t bytes, Reply& reply) {
  const DeviceMemory& memory = session.memory;
  session.refuse(reply, cuda::kMemoryAllocation,
                 "out of device memory: " + in_megabytes(bytes) + " asked for, " +
                     in_megabytes(memory.limit() - memory.used()) + " free of " +
                     in_megabytes(memory.limit()) +
                     ", which is what this machine can spare for the virtual GPU (start the engine "
                     "with --memory-limit BYTES to change it)");
}

// The program gets an address now; memory is there from when a launch of the graph reaches this node.
void allocate_in_graph(Session& session, const wire::Malloc& in, const std::string& name, Reply& reply) {
  const std::shared_ptr<Reservation> reserved = session.memory.reserve(in.bytes, name);
  if (reserved == nullptr) return tell_no_room(session, in.bytes, reply);
  reserved->reserved_by = session.caller;
  reply.error = session.streams.submit(in.stream, AllocateTask{reserved});
  if (reply.error != 0) return;
  session.allocations_made[kind_of(in.kind)] += 1;
  reply.put(wire::Address{reserved->base});
}

void allocate(Session& session, const wire::Malloc& in, Reply& reply) {
  if (!is_known(in.kind) || (in.stream_ordered && !session.streams.has_stream(in.stream))) {
    reply.error = cuda::kInvalidValue;
    return;
  }
  if (!in.stream_ordered && (reply.error = session.streams.refuse_during_capture()) != 0) return;
  if (in.bytes == 0) return reply.put(wire::Address{0});
  const AllocKind kind = kind_of(in.kind);
  const std::string name = std::string(call_of(in.kind, session.caller.api)) +
                           (in.stream_ordered ? "Async" : "") + " #" +
                           std::to_string(session.allocations_made[kind] + 1);
  // Of a captured copy of pageable memory: the runtime library's, not the program's.
  const bool is_for_copy = in.stream_ordered && kind == AllocKind::kPinned;
  if (in.stream_ordered && !is_for_copy && session.streams.is_capturing(in.stream))
    return allocate_in_graph(session, in, name, reply);
  Allocation* a =
      session.memory.allocate(in.bytes, kind, is_for_copy ? "the buffer of a captured copy" : name);
  if (a == nullptr) return tell_no_room(session, in.bytes, reply);
  if (is_for_copy) {
    a->from_program = false;
    return reply.put(wire::Address{a->base});
  }
  session.allocations_made[kind] += 1;
  a->allocated_by = session.caller;
  a->from_program = in.kind != wire::MemoryKind::kRegistered;  // left registered, it is no leak
  reply.put(wire::Address{a->base});
}

bool is_being_freed(const Session& session, const Allocation& a) {
  return a.reservation != nullptr ? !a.reservation->allocated : session.frees_queued.count(a.base) != 0;
}

void tell_bad_free(Session& session, const wire::Free& in, const char* call, Reply& reply) {
  const Allocation* live = session.memory.find(in.address);
  const bool is_queued = live != nullptr && is_being_freed(session, *live);
  Finding finding = checks::bad_free(call, in.address, session.memory, is_queued);
  if (session.config.options.check_memory) session.add_finding(std::move(finding), session.caller);
  reply.error = cuda::kInvalidValue;
}

void tell_bad_free_in_graph(Session& session, const wire::Free& in, const Reservation* reserved,
                            Reply& reply) {
  Finding finding = checks::bad_free_in_graph(in.address, session.memory, reserved);
  if (session.config.options.check_memory) session.add_finding(std::move(finding), session.caller);
  reply.error = cuda::kInvalidValue;
}

// The allocation that a free may release: the program's, whole, of the right kind, not on its way out.
const Allocation* releasable(Session& session, const wire::Free& in) {
  const Allocation* a = session.memory.find(in.address);
  const bool registered = in.kind == wire::MemoryKind::kRegistered;
  if (a == nullptr || a->base != in.address || a->from_program == registered || is_being_freed(session, *a))
    return nullptr;
  const bool host_call = registered || in.kind == wire::MemoryKind::kPinned;
  const bool device_kind = a->kind == AllocKind::kDevice || a->kind == AllocKind::kManaged;
  return (host_call ? a->kind == AllocKind::kPinned : device_kind) ? a : nullptr;
}

// A free in a graph is for memory of a graph, this one or another, once in each.
void release_in_graph(Session& session, const wire::Free& in, Reply& reply) {
  const std::shared_ptr<Reservation> reserved = session.memory.find_reserved(in.address);
  if (reserved == nullptr || reserved->base != in.address ||
      session.streams.frees_in_capture(in.stream, in.address))
    return tell_bad_free_in_graph(session, in, reserved.get(), reply);
  reply.error = session.streams.submit(in.stream, FreeTask{in.address, session.caller, reserved});
}

void release_in_order(Session& session, const wire::Free& in, Reply& reply) {
  if (!session.streams.has_stream(in.stream)) {
    reply.error = cuda::kInvalidResourceHandle;
    return;
  }
  if (session.streams.is_capturing(in.stream)) return release_in_graph(session, in, reply);
  if (!session.make_room(reply)) return;
  if (const auto reserved = session.memory.find_reserved(in.address)) {
    if (reserved->base != in.address || !reserved->allocated)
      return tell_bad_free(session, in, "cudaFreeAsync", reply);
    reply.error = session.streams.submit(in.stream, FreeTask{in.address, session.caller, reserved});
    if (reply.error == 0) reserved->allocated = false;
    return;
  }
  const Allocation* a = releasable(session, in);
  if (a == nullptr || a->kind != AllocKind::kDevice)
    return tell_bad_free(session, in, "cudaFreeAsync", reply);
  reply.error = session.streams.submit(in.stream, FreeTask{in.address, session.caller, nullptr});
  if (reply.error == 0) session.frees_queued.insert(in.address);
}

void release(Session& session, const wire::Free& in, Reply& reply) {
  if (in.address == 0) return;
  if (!is_known(in.kind)) {
    reply.error = cuda::kInvalidValue;
    return;
  }
  if (in.stream_ordered) return release_in_order(session, in, reply);
  // cudaFree waits for the device: nothing may still use the memory.
  const char* call = in.kind == wire::MemoryKind::kPinned ? "cudaFreeHost" : "cudaFree";
  session.call.note_wait(call, session.caller);
  Progress progress;
  reply.error = session.streams.sync_device(&progress);
  if (reply.error != 0 || !progress.ok()) return session.answer(progress, reply);
  const Allocation* a = releasable(session, in);
  if (a == nullptr) return tell_bad_free(session, in, call, reply);
  if (a->reservation != nullptr) a->reservation->allocated = false;
  session.memory.release(in.address, a->kind, call + session.host_code.mention(session.caller));
}

bool staging_fits(const wire::Copy& in) {
  uint64_t bytes = 0;
  return !__builtin_mul_overflow(in.width, in.height, &bytes) && bytes <= Session::kStagingBytes &&
         in.staging_offset <= Session::kStagingBytes - bytes;
}

void copy(Session& session, const wire::Copy& in, Reply& reply) {
  CopyTask task;
  task.caller = session.caller;
  task.plan.dst = {in.dst_side == wire::Side::kStaging, in.dst, in.dst_pitch};
  task.plan.src = {in.src_side == wire::Side::kStaging, in.src, in.src_pitch};
  task.plan.width = in.width;
  task.plan.height = in.height;
  const bool to_host = task.plan.dst.packed, from_host = task.plan.src.packed;
  if ((to_host || from_host) && !staging_fits(in)) {
    reply.error = cuda::kInvalidValue;
    return;
  }
  Finding finding;
  reply.error = check_copy(task.plan, in.kind, session.memory, &finding);
  if (reply.error != 0) {
    if (session.config.options.check_memory) session.add_finding(std::move(finding), session.caller);
    return;
  }
  const bool capturing = session.streams.is_capturing(in.stream);
  if (capturing && (to_host || from_host)) {
    session.streams.refuse_during_capture();
    return session.refuse(
        reply, cuda::kStreamCaptureUnsupported,
        "a copy of pageable host memory cannot be captured: use memory from cudaMallocHost");
  }
  const bool queued = in.async != 0 && !to_host && (!from_host || task.plan.bytes() <= kQueuedCopyBytes);
  if (!queued) {
    if (in.async == 0 && (reply.error = session.streams.refuse_during_capture()) != 0) return;
    task.staging_offset = in.staging_offset;
    Progress progress;
    reply.error = session.streams.submit_and_run(in.stream, std::move(task), &progress);
    if (reply.error == 0) session.answer(progress, reply);
    return;
  }
  if (!session.make_room(reply)) return;
  if (from_host && !task.plan.is_empty()) {
    const uint8_t* data = session.staging.data() + in.staging_offset;
    task.packed.assign(data, data + task.plan.bytes());
  }
  reply.error = session.streams.submit(in.stream, std::move(task));
}

// Even cudaMemset returns before the device has done it.
void fill(Session& session, const wire::Memset& in, Reply& reply) {
  const FillPlan plan{in.dst, in.pitch, in.width, in.height, in.value, in.element_bytes};
  Finding finding;
  reply.error = check_fill(plan, session.memory, &finding);
  if (reply.error != 0) {
    if (session.config.options.check_memory) session.add_finding(std::move(finding), session.caller);
    return;
  }
  if (in.async == 0 && (reply.error = session.streams.refuse_during_capture()) != 0) return;
  if (!session.make_room(reply)) return;
  reply.error = session.streams.submit(in.stream, FillTask{plan, session.caller});
}

void pointer(Session& session, const wire::Address& in, Reply& reply) {
  wire::PointerReply out{};
  if (const Allocation* a = session.memory.find(in.address)) {
    out.known = 1;
    out.base = a->base;
    out.bytes = a->bytes;
    out.kind = a->kind == AllocKind::kPinned    ? wire::MemoryKind::kPinned
               : a->kind == AllocKind::kManaged ? wire::MemoryKind::kManaged
                                                : wire::MemoryKind::kDevice;
  } else if (const auto reserved = session.memory.find_reserved(in.address)) {
    out = {reserved->base, reserved->bytes, wire::MemoryKind::kDevice, 1};
  }
  reply.put(out);
}

const RequestRow kMemoryRequests[] = {
    request<&allocate>(wire::Request::kMalloc), request<&release>(wire::Request::kFree),
    request<&copy>(wire::Request::kCopy),       request<&fill>(wire::Request::kMemset),
    request<&pointer>(wire::Request::kPointer),
};

}  // namespace

std::span<const RequestRow> memory_requests() {
  return kMemoryRequests;
}

}  // namespace vgpu
