#include "server/line_helper.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

namespace vgpu {
namespace {

// What comes first in a request; the path and the offsets follow. A reply is a size and so many bytes of
// text.
struct Question {
  uint32_t path_bytes, offsets;
};

constexpr uint32_t kLongestQuestion = 4096;
constexpr uint32_t kLongestAnswer = 32u << 20;

bool read_all(int from, void* data, size_t bytes) {
  auto* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = read(from, at, bytes);
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

bool write_all(int to, const void* data, size_t bytes) {
  const auto* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t put = send(to, at, bytes, MSG_NOSIGNAL);
    if (put <= 0) return false;
    at += put;
    bytes -= static_cast<size_t>(put);
  }
  return true;
}

bool answer_one(int peer) {
  Question asked{};
  if (!read_all(peer, &asked, sizeof asked)) return false;
  if (asked.path_bytes > kLongestQuestion || asked.offsets > kMostOffsets) return false;
  std::string path(asked.path_bytes, '\0');
  std::vector<uint64_t> offsets(asked.offsets);
  if (!read_all(peer, path.data(), path.size())) return false;
  if (!read_all(peer, offsets.data(), offsets.size() * sizeof offsets[0])) return false;
  const std::string text = addr2line_text(path, offsets);
  const auto size = static_cast<uint32_t>(text.size());
  return write_all(peer, &size, sizeof size) && write_all(peer, text.data(), text.size());
}

constexpr char kWalled = 1;

[[noreturn]] void serve_lookups(int peer, const Walls& walls) {
  try {
    enter_walls(walls);
    bool served = write_all(peer, &kWalled, sizeof kWalled);
    while (served) served = answer_one(peer);
  } catch (const std::exception&) {
  }
  _exit(0);
}

}  // namespace

LineHelper::LineHelper(const Walls& walls, const std::vector<int>& close_there) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::runtime_error("no socket for the helper that looks up lines");
  const pid_t engine = getpid();
  process_ = fork();
  if (process_ < 0) throw std::runtime_error("no process for the helper that looks up lines");
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != engine) _exit(0);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGALRM}) ::signal(signal, SIG_DFL);
    for (const int file : close_there) close(file);
    close(ends[0]);
    serve_lookups(ends[1], walls);
  }
  close(ends[1]);
  socket_ = ends[0];
  // No program is served before the helper has given everything up.
  char said = 0;
  if (!read_all(socket_, &said, sizeof said) || said != kWalled)
    throw std::runtime_error("the helper that looks up lines could not be walled in");
}

LineHelper::~LineHelper() {
  close(socket_);
  waitpid(process_, nullptr, 0);
}

LinesByOffset LineHelper::look_up(const std::string& object_file, const std::vector<uint64_t>& offsets) {
  const size_t count = std::min(offsets.size(), kMostOffsets);
  const Question asked{static_cast<uint32_t>(object_file.size()), static_cast<uint32_t>(count)};
  uint32_t size = 0;
  if (asked.path_bytes > kLongestQuestion || !write_all(socket_, &asked, sizeof asked) ||
      !write_all(socket_, object_file.data(), object_file.size()) ||
      !write_all(socket_, offsets.data(), count * sizeof offsets[0]) ||
      !read_all(socket_, &size, sizeof size) || size > kLongestAnswer)
    return {};
  std::string text(size, '\0');
  return read_all(socket_, text.data(), size) ? parse_addr2line(text) : LinesByOffset{};
}

}  // namespace vgpu
