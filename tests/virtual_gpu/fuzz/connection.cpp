// Bytes on a socket: whatever arrives, in whatever pieces, becomes requests or the sentence that it is none.
#include "server/connection.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

namespace {

constexpr size_t kPiece = 4096;  // the first byte of an input makes it smaller

// Takes every request that is there; false when the peer does not speak the protocol.
bool take_all(vgpu::Connection& connection) {
  connection.receive();
  vgpu::Message message;
  std::string why;
  while (true) switch (connection.next(&message, &why)) {
      case vgpu::Connection::Frame::kNone:
        return true;
      case vgpu::Connection::Frame::kBroken:
        return false;
      case vgpu::Connection::Frame::kWhole:
        for (const uint8_t byte : message.payload)
          static_cast<void>(*static_cast<const volatile uint8_t*>(&byte));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t piece = kPiece >> (*data++ & 7);
  --size;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) throw std::runtime_error("no sockets");
  {
    vgpu::Connection connection(ends[1]);
    bool speaks = true;
    while (size > 0 && speaks) {
      const ssize_t sent = write(ends[0], data, std::min(size, piece));
      if (sent <= 0) break;
      data += sent, size -= static_cast<size_t>(sent);
      speaks = take_all(connection);
    }
  }
  close(ends[0]);
  return 0;
}
