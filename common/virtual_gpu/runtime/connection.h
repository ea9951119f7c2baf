// The one connection of this process to its engine: made at the first call that needs it, shared by all host
// threads, and lost for good when the engine goes or the process is a fork of the one that made it.
#pragma once

#include <driver_types.h>
#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <set>
#include <vector>

#include "code_place.h"
#include "protocol.h"

namespace vgpu {

using Bytes = std::vector<uint8_t>;

class Connection {
 public:
  static Connection& get();

  // Sends one request (a fixed part and an optional tail), runs the host callbacks and prints the device
  // output that the engine hands over meanwhile, and returns the engine's answer. A sticky error is the
  // answer to every later request.
  cudaError_t call(wire::Request request, const void* fixed, size_t fixed_bytes, const void* tail,
                   size_t tail_bytes, Bytes* reply);

  cudaError_t ask(wire::Request request) { return call(request, nullptr, 0, nullptr, 0, nullptr); }
  template <typename Body>
  cudaError_t ask(wire::Request request, const Body& body, Bytes* reply = nullptr) {
    return call(request, &body, sizeof body, nullptr, 0, reply);
  }
  // For replies of one struct. A reply of another length is the engine's fault: cudaErrorUnknown.
  template <typename Body, typename Answer>
  cudaError_t ask(wire::Request request, const Body& body, Answer* answer) {
    Bytes reply;
    const cudaError_t error = ask(request, body, &reply);
    return error != cudaSuccess ? error : unpack(reply, answer);
  }
  template <typename Answer>
  cudaError_t query(wire::Request request, Answer* answer) {
    Bytes reply;
    const cudaError_t error = call(request, nullptr, 0, nullptr, 0, &reply);
    return error != cudaSuccess ? error : unpack(reply, answer);
  }
  template <typename Answer>
  static cudaError_t unpack(const Bytes& reply, Answer* answer) {
    if (reply.size() < sizeof(Answer)) return cudaErrorUnknown;
    std::memcpy(answer, reply.data(), sizeof(Answer));
    return cudaSuccess;
  }

  // Connects where that has not been done. Works beside a sticky error, as device queries do.
  cudaError_t ready();
  const wire::DeviceInfo& device() const { return hello_.info; }  // once ready

  // Memory that the engine reads and writes too: what pageable copies travel through. Holding the mutex from
  // filling it to the engine's answer keeps other threads' copies out.
  std::mutex& staging_mutex() { return staging_mutex_; }
  uint8_t* staging() const { return staging_; }
  size_t staging_bytes() const { return hello_.staging_bytes; }

  // How many requests the program has made.
  uint64_t calls() const { return calls_; }

  bool poisoned() const { return sticky_.load() != cudaSuccess; }
  // After a reset on a poisoned device nothing works any more, as on hardware.
  void retire() { sticky_ = cudaErrorDevicesUnavailable; }

  // For the fault handler: sends without waiting for an answer, unless another thread is in the midst of
  // sending. Async-signal-safe.
  void send_from_signal(wire::Request request, const void* fixed, size_t fixed_bytes);

  // An object file of the program's is about to be unloaded.
  void forget_code();

  void close_at_exit();

 private:
  enum class State { kNew, kReady, kLost };

  Connection();
  cudaError_t connect();
  cudaError_t greet();
  bool map_memory(const std::vector<int>& descriptors);
  struct Parts {  // of a request
    const void* fixed = nullptr;
    size_t fixed_bytes = 0;
    const void* tail = nullptr;
    size_t tail_bytes = 0;
    wire::CodePlace caller{};
  };
  bool exchange(wire::Request request, const Parts& parts, wire::ReplyHeader* header, Bytes* reply,
                std::vector<int>* descriptors = nullptr);
  uint32_t register_code(const std::string& path);
  cudaError_t fail(const char* sentence);
  void run_callback(const Bytes& payload, std::unique_lock<std::mutex>& lock);
  void print_device_output();
  static void leave_to_parent();

  std::mutex mutex_;  // the socket
  std::mutex staging_mutex_;
  std::condition_variable callback_done_;
  std::set<uint64_t> callbacks_running_;
  std::atomic<State> state_{State::kNew};
  std::atomic<cudaError_t> sticky_{cudaSuccess};
  std::atomic<bool> sending_{false};
  std::atomic<uint64_t> calls_{0};
  int socket_ = -1;
  pid_t owner_ = 0, child_ = 0;
  uint32_t serial_ = 0;
  wire::HelloReply hello_{};
  uint8_t* staging_ = nullptr;
  KnownCode known_code_;
};

}  // namespace vgpu
