#include "server/server.h"

#include <poll.h>

#include <algorithm>
#include <cstdio>

namespace vgpu {

volatile int stop_signal = 0;

namespace {

// A program that has queued work and then makes no call for so long is taken to watch memory for it.
constexpr std::chrono::milliseconds kIdle{5000};

wire::DeviceInfo device_info(const Profile& profile, uint64_t memory_bytes) {
  wire::DeviceInfo info{};
  std::snprintf(info.name, sizeof info.name, "%s", profile.name.c_str());
  info.total_memory = memory_bytes;
  info.l2_bytes = static_cast<uint64_t>(profile.l2_bytes);
  info.cc_major = profile.cc_major;
  info.cc_minor = profile.cc_minor;
  info.sms = profile.sms;
  info.warp_size = kLanes;
  info.max_threads_per_block = 1024;
  info.max_threads_per_sm = profile.max_threads_per_sm;
  info.max_blocks_per_sm = profile.max_blocks_per_sm;
  info.shared_per_block = profile.shared_per_block;
  info.shared_per_block_optin = profile.shared_per_block_optin;
  info.shared_per_sm = profile.shared_per_sm;
  info.reserved_shared_per_block = profile.reserved_shared_per_block;
  info.regs_per_block = profile.registers_per_block;
  info.regs_per_sm = profile.registers_per_sm;
  info.clock_khz = static_cast<int32_t>(profile.clock_ghz * 1e6);
  info.memory_clock_khz = profile.memory_clock_khz;
  info.memory_bus_bits = profile.memory_bus_bits;
  info.constant_bytes = 64 * 1024;
  constexpr int32_t kMaxGrid[3] = {2147483647, 65535, 65535}, kMaxBlock[3] = {1024, 1024, 64};
  std::copy(std::begin(kMaxGrid), std::end(kMaxGrid), info.max_grid);
  std::copy(std::begin(kMaxBlock), std::end(kMaxBlock), info.max_block);
  return info;
}

}  // namespace

Server::Server(SessionConfig config, int program_fd, int harness_fd)
    : program_(std::make_unique<Peer>(program_fd, Role::kProgram)),
      harness_(harness_fd < 0 ? nullptr : std::make_unique<Peer>(harness_fd, Role::kHarness)),
      session_(std::move(config), [this] { return should_stop(); }) {}

// Asked while a kernel runs, from any thread: a result that nobody will fetch is not worth computing.
bool Server::should_stop() const {
  if (stop_signal != 0) return true;
  if (harness_ != nullptr && harness_->connection.peer_gone()) return true;
  return program_->connection.open() && program_->connection.peer_gone();
}

void Server::run() {
  while (stop_signal == 0) {
    // The harness first: it is trusted, and a program must not be able to keep it waiting.
    if (harness_ != nullptr && !serve_next(*harness_)) break;
    if (program_->connection.open() && !serve_next(*program_)) lose_program();
    if (!program_->connection.open() && harness_ == nullptr) break;
    if (stop_signal == 0) wait_for_requests();
  }
  session_.end_program();
  session_.finish(harness_ == nullptr);
}

void Server::wait_for_requests() {
  pollfd polled[2];
  Peer* peers[2];
  nfds_t count = 0;
  bool request_waits = false;  // one that has been received already: then this only looks
  for (Peer* peer : {harness_.get(), program_.get()}) {
    if (peer == nullptr || !peer->connection.open()) continue;
    request_waits |= !peer->connection.has_output() && peer->connection.has_input();
    const short events = peer->connection.has_output() ? POLLOUT : POLLIN;
    peers[count] = peer;
    polled[count++] = {peer->connection.fd(), events, 0};
  }
  // Only the program's silence counts: a harness may ask for reports all the while.
  const bool work_waits = session_.scheduler.pending() != 0;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(last_call_ + kIdle - Clock::now());
  const int wait_ms = work_waits ? std::max(0, static_cast<int>(left.count())) : -1;
  poll(polled, count, request_waits ? 0 : wait_ms);
  for (nfds_t i = 0; i < count; ++i) peers[i]->readable = polled[i].revents != 0;
  const bool program_calls = polled[count - 1].revents != 0;  // work waits only while there is a program
  if (work_waits && !request_waits && !program_calls && Clock::now() - last_call_ >= kIdle) {
    session_.run_idle();
    last_call_ = Clock::now();
  }
}

bool Server::serve_next(Peer& peer) {
  Connection& connection = peer.connection;
  // A peer that does not read its replies gets no further ones.
  if (!connection.flush()) return false;
  if (connection.has_output()) return true;
  Message message;
  std::string why;
  bool present = true;
  Connection::Frame frame = connection.next(&message, &why);
  if (frame == Connection::Frame::kNone && peer.readable) {
    peer.readable = false;
    present = connection.receive();
    frame = connection.next(&message, &why);
  }
  if (frame == Connection::Frame::kNone) return present;
  if (frame == Connection::Frame::kBroken) {
    session_.tell("closing a connection: " + why);
    return false;
  }
  const bool hello = message.op == static_cast<uint32_t>(wire::Request::kHello);
  if (!hello && !peer.greeted) {
    session_.tell("closing a connection: its first request was not a hello");
    return false;
  }
  const Reply reply = hello ? greet(peer, message) : serve(session_, peer.role, message);
  if (peer.role == Role::kProgram) last_call_ = Clock::now();
  return connection.send(message.serial, reply);
}

Reply Server::greet(Peer& peer, const Message& message) {
  Reply reply;
  wire::Hello hello{};
  const bool whole = message.payload.size() == sizeof hello;
  if (whole) std::memcpy(&hello, message.payload.data(), sizeof hello);
  if (!whole || hello.version != wire::kVersion || (hello.role == 1) != (peer.role == Role::kHarness)) {
    session_.refuse(reply, cuda::kInvalidValue,
                    "the hello does not fit: engine and runtime library are of different builds");
    return reply;
  }
  const DeviceMemory& memory = session_.memory;
  wire::HelloReply out{};
  out.device_base = wire::kDeviceBase;
  out.device_bytes = memory.device_bytes();
  out.pinned_base = wire::kPinnedBase;
  out.pinned_bytes = memory.pinned_bytes();
  out.staging_bytes = Session::kStagingBytes;
  out.info = device_info(session_.config.profile, memory.limit());
  reply.put(out);
  const int first = peer.role == Role::kHarness ? memory.device_fd() : session_.staging.fd();
  reply.descriptors = {first, memory.pinned_fd()};
  peer.greeted = true;
  return reply;
}

void Server::lose_program() {
  program_->connection.close();
  session_.end_program();
}

}  // namespace vgpu
