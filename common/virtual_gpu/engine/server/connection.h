// One peer on a Unix stream socket: requests in, replies out, never blocking and never trusting.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "protocol.h"

namespace vgpu {

using Bytes = std::span<const uint8_t>;

struct Message {
  uint32_t op = 0, serial = 0;
  wire::CodePlace caller{};
  Bytes payload;  // valid until the connection is read again
};

struct Reply {
  int error = 0;  // cudaError_t; a reply with an error may carry a sentence for the user as its payload
  uint32_t flags = 0;
  std::vector<uint8_t> payload;
  std::vector<int> descriptors;

  template <class T>
  void put(const T& value) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    payload.insert(payload.end(), bytes, bytes + sizeof value);
  }
  void put_text(const std::string& text) { payload.insert(payload.end(), text.begin(), text.end()); }
};

class Connection {
 public:
  explicit Connection(int fd);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int fd() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  void close();

  // Takes in what has arrived. False when the peer has gone: nothing more will come.
  bool receive();
  enum class Frame { kNone, kWhole, kBroken };
  // The next request that has arrived whole. kBroken: the bytes are not our protocol; `why` says how.
  Frame next(Message* message, std::string* why);
  // True when next() has something to say without another receive().
  bool has_input() const;
  // Queues the reply and sends as much as the peer takes now. False when the peer has gone.
  bool send(uint32_t serial, const Reply& reply);
  bool flush();
  bool has_output() const { return sent_ < out_.size(); }

  // True when the peer has closed its end. Cheap, never blocks, callable from any thread.
  bool peer_gone() const;

 private:
  // Decided by the first bytes alone: something that does not speak the protocol may never send a whole
  // header.
  bool starts_wrong() const;
  // The header of the next request, once enough of it has arrived.
  bool peek(wire::RequestHeader* header) const;

  int fd_ = -1;
  std::vector<uint8_t> in_;  // its first `filled_` bytes have arrived
  size_t filled_ = 0;
  size_t used_ = 0;  // bytes that belong to requests already served
  std::vector<uint8_t> out_;
  size_t sent_ = 0;
  std::vector<int> descriptors_;  // travel with the next byte sent
};

}  // namespace vgpu
