#include "server/connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace vgpu {
namespace {

constexpr size_t kReadBytes = 1 << 16;
constexpr size_t kKeptBytes = 1 << 20;  // a buffer that one long request made larger is given back
constexpr size_t kMaxDescriptors = 4;

}  // namespace

Connection::Connection(int fd) : fd_(fd) {
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

Connection::~Connection() {
  close();
}

void Connection::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

bool Connection::receive() {
  if (used_ > 0) {
    std::memmove(in_.data(), in_.data() + used_, filled_ - used_);
    filled_ -= used_;
    used_ = 0;
    if (filled_ == 0 && in_.size() > kKeptBytes) in_ = {};
  }
  // The buffer grows with what arrives, not with what a header promises.
  if (in_.size() < filled_ + kReadBytes) in_.resize(std::max(filled_ + kReadBytes, 2 * filled_));
  const ssize_t got = recv(fd_, in_.data() + filled_, in_.size() - filled_, 0);
  if (got > 0) filled_ += static_cast<size_t>(got);
  if (got > 0) return true;
  return got < 0 && (errno == EAGAIN || errno == EINTR);
}

bool Connection::starts_wrong() const {
  uint32_t magic = 0;
  if (filled_ - used_ < sizeof magic) return false;
  std::memcpy(&magic, in_.data() + used_, sizeof magic);
  return magic != wire::kMagic;
}

bool Connection::peek(wire::RequestHeader* header) const {
  if (filled_ - used_ < sizeof *header) return false;
  std::memcpy(header, in_.data() + used_, sizeof *header);
  return true;
}

bool Connection::has_input() const {
  if (starts_wrong()) return true;
  wire::RequestHeader header;
  if (!peek(&header)) return false;
  return header.payload > wire::kMaxPayload || filled_ - used_ - sizeof header >= header.payload;
}

Connection::Frame Connection::next(Message* message, std::string* why) {
  if (starts_wrong()) {
    *why = "a request does not begin with the protocol's magic number";
    return Frame::kBroken;
  }
  wire::RequestHeader header;
  if (!peek(&header)) return Frame::kNone;
  if (header.payload > wire::kMaxPayload) {
    *why = "a request announces " + std::to_string(header.payload) + " bytes; at most " +
           std::to_string(wire::kMaxPayload) + " are allowed";
    return Frame::kBroken;
  }
  if (filled_ - used_ - sizeof header < header.payload) return Frame::kNone;
  message->op = header.op;
  message->serial = header.serial;
  message->caller = header.caller;
  message->payload = Bytes(in_.data() + used_ + sizeof header, header.payload);
  used_ += sizeof header + header.payload;
  return Frame::kWhole;
}

bool Connection::send(uint32_t serial, const Reply& reply) {
  const wire::ReplyHeader header{wire::kMagic, reply.error, reply.flags,
                                 static_cast<uint32_t>(reply.payload.size()), serial};
  const auto* bytes = reinterpret_cast<const uint8_t*>(&header);
  out_.insert(out_.end(), bytes, bytes + sizeof header);
  out_.insert(out_.end(), reply.payload.begin(), reply.payload.end());
  descriptors_.insert(descriptors_.end(), reply.descriptors.begin(), reply.descriptors.end());
  return flush();
}

bool Connection::flush() {
  while (has_output()) {
    iovec part{out_.data() + sent_, out_.size() - sent_};
    alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!descriptors_.empty() && descriptors_.size() <= kMaxDescriptors) {
      const size_t bytes = descriptors_.size() * sizeof(int);
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(bytes);
      cmsghdr* head = CMSG_FIRSTHDR(&message);
      head->cmsg_level = SOL_SOCKET;
      head->cmsg_type = SCM_RIGHTS;
      head->cmsg_len = CMSG_LEN(bytes);
      std::memcpy(CMSG_DATA(head), descriptors_.data(), bytes);
    }
    const ssize_t n = sendmsg(fd_, &message, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN;
    descriptors_.clear();
    sent_ += static_cast<size_t>(n);
  }
  out_.clear();
  sent_ = 0;
  return true;
}

bool Connection::peer_gone() const {
  if (fd_ < 0) return true;
  pollfd state{fd_, POLLRDHUP, 0};
  return poll(&state, 1, 0) > 0 && (state.revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL)) != 0;
}

}  // namespace vgpu
