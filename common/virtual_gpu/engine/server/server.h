// The engine's main loop: one program, perhaps a harness, one request at a time.
#pragma once

#include <chrono>
#include <memory>

#include "server/connection.h"
#include "server/dispatch.h"
#include "server/session.h"

namespace vgpu {

// Set by the handlers of SIGTERM and its like (see main.cpp).
extern volatile int stop_signal;

class Server {
 public:
  // `harness_fd` -1: there is none, and the engine ends with its program.
  Server(SessionConfig config, int program_fd, int harness_fd);
  // Until the last peer that matters has gone, or a signal says so.
  void run();

 private:
  struct Peer {
    Peer(int fd, Role r) : connection(fd), role(r) {}
    Connection connection;
    Role role;
    bool greeted = false;
    bool readable = true;  // the socket may hold something to receive
  };
  bool should_stop() const;
  void wait_for_requests();
  // False when the peer is gone or has broken the protocol.
  bool serve_next(Peer& peer);
  Reply greet(Peer& peer, const Message& message);
  void lose_program();

  using Clock = std::chrono::steady_clock;

  std::unique_ptr<Peer> program_, harness_;
  Clock::time_point last_call_ = Clock::now();  // of the program
  Session session_;
};

}  // namespace vgpu
