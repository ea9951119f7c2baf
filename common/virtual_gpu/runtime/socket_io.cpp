#include "socket_io.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace vgpu {

bool send_all(int socket, iovec* parts, int count) {
  while (count > 0) {
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = static_cast<size_t>(count);
    const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    size_t left = static_cast<size_t>(sent);
    while (count > 0 && left >= parts->iov_len) {
      left -= parts->iov_len;
      ++parts;
      --count;
    }
    if (count > 0) {
      parts->iov_base = static_cast<char*>(parts->iov_base) + left;
      parts->iov_len -= left;
    }
  }
  return true;
}

namespace {

void collect_descriptors(msghdr& message, std::vector<int>& descriptors) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    const size_t before = descriptors.size();
    descriptors.resize(before + count);
    std::memcpy(descriptors.data() + before, CMSG_DATA(part), count * sizeof(int));
  }
}

}  // namespace

bool receive_all(int socket, void* data, size_t bytes, std::vector<int>* descriptors) {
  constexpr size_t kMostDescriptors = 8;
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))];
  char* at = static_cast<char*>(data);
  while (bytes > 0) {
    iovec part{at, bytes};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (descriptors != nullptr) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
    }
    const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    if (descriptors != nullptr) collect_descriptors(message, *descriptors);
    at += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

}  // namespace vgpu
