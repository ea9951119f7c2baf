#include "connection.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>

#include "engine_process.h"
#include "errors.h"
#include "host_fault.h"
#include "socket_io.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace vgpu {

using wire::Request;

namespace {

// CUDA forbids API calls in a host callback; here one would wait for itself.
thread_local bool in_callback = false;

__attribute__((destructor)) void close_connection() {
  Connection::get().close_at_exit();
}

// Never onto something that is already there; older kernels take the address as a hint only.
bool map_at(uint64_t address, uint64_t bytes, int protection, int flags, int descriptor) {
  void* const wanted = reinterpret_cast<void*>(address);
  void* const got =
      mmap(wanted, bytes, protection, flags | MAP_NORESERVE | MAP_FIXED_NOREPLACE, descriptor, 0);
  if (got == wanted) return true;
  if (got != MAP_FAILED) munmap(got, bytes);
  return false;
}

}  // namespace

Connection::Connection() {
  pthread_atfork(nullptr, nullptr, &Connection::leave_to_parent);
}

// Never destroyed: static destructors of the program may still free device memory.
Connection& Connection::get() {
  static Connection* const connection = new Connection;
  return *connection;
}

void Connection::leave_to_parent() {
  Connection& connection = get();
  if (connection.socket_ >= 0) close(connection.socket_);
  connection.socket_ = -1;
  if (connection.state_ == State::kReady) connection.state_ = State::kLost;
}

cudaError_t Connection::fail(const char* sentence) {
  state_ = State::kLost;
  say("%s", sentence);
  return cudaErrorDevicesUnavailable;
}

cudaError_t Connection::ready() {
  if (state_ == State::kReady) return cudaSuccess;
  if (state_ == State::kLost) return cudaErrorDevicesUnavailable;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (state_ == State::kNew) return connect();
  return state_ == State::kReady ? cudaSuccess : cudaErrorDevicesUnavailable;
}

cudaError_t Connection::connect() {
  const EngineLink link = open_engine();
  if (link.socket < 0) return fail(link.why.c_str());
  socket_ = link.socket;
  child_ = link.child;
  owner_ = getpid();
  return greet();
}

cudaError_t Connection::greet() {
  const wire::Hello hello{wire::kVersion, 0, getpid()};
  wire::ReplyHeader header{};
  Bytes reply;
  std::vector<int> descriptors;
  const bool answered = exchange(Request::kHello, {&hello, sizeof hello}, &header, &reply, &descriptors);
  cudaError_t error = cudaSuccess;
  if (!answered) {
    error = fail("the engine ended before it answered; its own message, if it gave one, is above");
  } else if (header.error != 0 || unpack(reply, &hello_) != cudaSuccess) {
    error =
        fail("the engine refused this program: the runtime library and the engine are of different builds");
  } else if (!map_memory(descriptors)) {
    error = fail(
        "the addresses of device memory could not be reserved in this process: lift a limit on virtual "
        "memory (ulimit -v unlimited)");
  }
  for (const int descriptor : descriptors) close(descriptor);
  if (error != cudaSuccess) return error;
  watch_host_faults(hello_.device_base, hello_.device_bytes);
  state_ = State::kReady;
  return cudaSuccess;
}

bool Connection::map_memory(const std::vector<int>& descriptors) {
  if (descriptors.size() < 2) return false;
  void* const staging =
      mmap(nullptr, hello_.staging_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptors[0], 0);
  if (staging == MAP_FAILED) return false;
  staging_ = static_cast<uint8_t*>(staging);
  return map_at(hello_.pinned_base, hello_.pinned_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                descriptors[1]) &&
         map_at(hello_.device_base, hello_.device_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

bool Connection::exchange(Request request, const Parts& parts, wire::ReplyHeader* header, Bytes* reply,
                          std::vector<int>* descriptors) {
  wire::RequestHeader head{wire::kMagic, static_cast<uint32_t>(request),
                           static_cast<uint32_t>(parts.fixed_bytes + parts.tail_bytes), ++serial_,
                           parts.caller};
  iovec pieces[3] = {{&head, sizeof head},
                     {const_cast<void*>(parts.fixed), parts.fixed_bytes},
                     {const_cast<void*>(parts.tail), parts.tail_bytes}};
  sending_ = true;
  const bool sent = send_all(socket_, pieces, 3);
  sending_ = false;
  if (!sent || !receive_all(socket_, header, sizeof *header, descriptors)) return false;
  if (header->magic != wire::kMagic || header->serial != serial_) return false;
  reply->resize(header->payload);
  return header->payload == 0 || receive_all(socket_, reply->data(), reply->size(), descriptors);
}

cudaError_t Connection::call(Request request, const void* fixed, size_t fixed_bytes, const void* tail,
                             size_t tail_bytes, Bytes* reply) {
  ++calls_;
  if (in_callback) return cudaErrorNotPermitted;
  if (const cudaError_t sticky = sticky_; sticky != cudaSuccess) return sticky;
  if (const cudaError_t error = ready(); error != cudaSuccess) return error;
  if (fixed_bytes + tail_bytes > wire::kMaxPayload) return cudaErrorInvalidValue;
  Bytes local;
  Bytes& payload = reply != nullptr ? *reply : local;
  std::unique_lock<std::mutex> lock(mutex_);
  Parts parts{fixed, fixed_bytes, tail, tail_bytes};
  parts.caller = known_code_.place(api_caller, [&](const std::string& path) { return register_code(path); });
  for (;;) {
    wire::ReplyHeader header{};
    if (state_ == State::kLost) return cudaErrorDevicesUnavailable;
    if (!exchange(request, parts, &header, &payload)) {
      if (state_ == State::kLost) return cudaErrorDevicesUnavailable;  // the process ends
      return fail("the engine is gone; every further call answers cudaErrorDevicesUnavailable");
    }
    if (header.flags & wire::kPrintfPending) print_device_output();
    if (header.flags & wire::kHostCallback) {
      run_callback(payload, lock);
      continue;
    }
    const auto error = static_cast<cudaError_t>(header.error);
    if (header.flags & wire::kSticky) sticky_ = error;
    if (error != cudaSuccess && error != cudaErrorNotReady && !payload.empty()) {
      say("%.*s", static_cast<int>(payload.size()), reinterpret_cast<const char*>(payload.data()));
    }
    return error;
  }
}

// A place that has no number is as good as none, so a failure here needs no answer.
uint32_t Connection::register_code(const std::string& path) {
  wire::ReplyHeader header{};
  Bytes reply;
  wire::Id id{};
  if (state_ != State::kReady ||
      !exchange(Request::kCodeModule, {path.data(), path.size()}, &header, &reply) || header.error != 0 ||
      unpack(reply, &id) != cudaSuccess) {
    return 0;
  }
  return static_cast<uint32_t>(id.id);
}

void Connection::forget_code() {
  const std::lock_guard<std::mutex> lock(mutex_);
  known_code_.forget();
}

// The socket is free while the program's function runs, since it may wait for another thread's CUDA calls.
// A thread that is handed the same callback meanwhile waits for it instead of running it again.
void Connection::run_callback(const Bytes& payload, std::unique_lock<std::mutex>& lock) {
  wire::HostCallback callback{};
  if (unpack(payload, &callback) != cudaSuccess) return;
  if (!callbacks_running_.insert(callback.token).second) {
    callback_done_.wait(lock, [&] { return callbacks_running_.count(callback.token) == 0; });
    return;
  }
  lock.unlock();
  in_callback = true;
  reinterpret_cast<void (*)(void*)>(callback.function)(reinterpret_cast<void*>(callback.user_data));
  in_callback = false;
  lock.lock();
  wire::ReplyHeader header{};
  Bytes ignored;
  if (state_ == State::kReady) {
    exchange(Request::kCallbackDone, {&callback, sizeof callback}, &header, &ignored);
  }
  callbacks_running_.erase(callback.token);
  callback_done_.notify_all();
}

void Connection::print_device_output() {
  wire::ReplyHeader header{};
  Bytes text;
  do {
    if (!exchange(Request::kTakePrintf, {}, &header, &text)) return;
    std::fwrite(text.data(), 1, text.size(), stdout);
  } while ((header.flags & wire::kPrintfPending) && !text.empty());
  std::fflush(stdout);
}

void Connection::send_from_signal(Request request, const void* fixed, size_t fixed_bytes) {
  constexpr timespec kPause{0, 1'000'000};
  for (int waited = 0; sending_ && waited < 500; ++waited) nanosleep(&kPause, nullptr);
  if (sending_ || socket_ < 0) return;
  wire::RequestHeader head{
      wire::kMagic, static_cast<uint32_t>(request), static_cast<uint32_t>(fixed_bytes), 0, {}};
  iovec parts[2] = {{&head, sizeof head}, {const_cast<void*>(fixed), fixed_bytes}};
  send_all(socket_, parts, 2);
}

void Connection::close_at_exit() {
  if (owner_ != getpid()) return;
  state_ = State::kLost;
  if (socket_ >= 0) {
    shutdown(socket_, SHUT_RDWR);  // wakes a thread that still waits for an answer
    close(socket_);
  }
  socket_ = -1;
  if (child_ > 0) reap_engine(child_);
}

}  // namespace vgpu
