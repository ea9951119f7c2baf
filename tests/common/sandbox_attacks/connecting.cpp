// A library that connects as NVIDIA's driver does, and as student code would like to. Entry points return 0
// on success and the errno when refused, unless they say otherwise.
#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kAddresses = 2;
struct Address {
  alignas(8) char bytes[128];
  int64_t length;
};
Address addresses[kAddresses];
int connected = -1;

int connect_once(int descriptor, const Address& address) {
  const auto* at = reinterpret_cast<const sockaddr*>(address.bytes);
  return connect(descriptor, at, static_cast<socklen_t>(address.length)) == 0 ? 0 : errno;
}

bool before(std::chrono::steady_clock::time_point end) {
  return std::chrono::steady_clock::now() < end;
}

std::chrono::steady_clock::time_point after_ms(int64_t milliseconds) {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
}

}  // namespace

// Entry points take numbers only, so an address arrives eight bytes at a time.
extern "C" int clear_address(int64_t which) {
  addresses[which] = {};
  return 0;
}

extern "C" int push_address(int64_t which, uint64_t bytes, int64_t length) {
  Address& address = addresses[which];
  memcpy(address.bytes + address.length, &bytes, static_cast<size_t>(length));
  address.length += length;
  return 0;
}

extern "C" int connect_to(int64_t which, int64_t type, int64_t more_length) {
  if (connected >= 0) close(connected);
  connected = socket(AF_UNIX, static_cast<int>(type), 0);
  if (connected < 0) return errno;
  Address address = addresses[which];
  address.length += more_length;
  return connect_once(connected, address);
}

// Receive a text with a descriptor; send back what the descriptor holds.
extern "C" int exchange() {
  char text[64];
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  iovec part = {text, sizeof text};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(connected, &message, 0) <= 0) return errno;
  const cmsghdr* rights = CMSG_FIRSTHDR(&message);
  if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS) return EBADMSG;
  int received;
  memcpy(&received, CMSG_DATA(rights), sizeof received);
  const ssize_t size = pread(received, text, sizeof text, 0);
  close(received);
  return size > 0 && send(connected, text, static_cast<size_t>(size), 0) == size ? 0 : EIO;
}

extern "C" int is_blocking() {
  return (fcntl(connected, F_GETFL) & O_NONBLOCK) == 0;
}

extern "C" int make_socket(int64_t family, int64_t type) {
  const int made = socket(static_cast<int>(family), static_cast<int>(type), 0);
  if (made < 0) return errno;
  close(made);
  return 0;
}

extern "C" int make_pair(int64_t type) {
  int made[2];
  return socketpair(AF_UNIX, static_cast<int>(type), 0, made) == 0 ? 0 : errno;
}

extern "C" int connect_number(int64_t descriptor) {
  return connect_once(static_cast<int>(descriptor), addresses[0]);
}

extern "C" int connect_at(int64_t place, int64_t length) {
  const int made = socket(AF_UNIX, SOCK_STREAM, 0);
  const long answer = syscall(SYS_connect, made, place, length);
  const int code = answer == 0 ? 0 : errno;
  close(made);
  return code;
}

// How many descriptors of this process could answer its own questions.
extern "C" int count_listeners() {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return -1;
  while (const dirent* entry = readdir(folder)) {
    char target[128] = {};
    const std::string path = std::string("/proc/self/fd/") + entry->d_name;
    if (readlink(path.c_str(), target, sizeof target - 1) > 0 && strstr(target, "seccomp") != nullptr)
      ++count;
  }
  closedir(folder);
  return count;
}

// A filter of the student's own that lets the student answer.
extern "C" int listen_to_itself() {
  sock_filter step = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF};
  sock_fprog program = {1, &step};
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program) >= 0
             ? 0
             : errno;
}

// Ask from many threads at once. Returns how often.
extern "C" int flood(int64_t threads, int64_t milliseconds) {
  std::atomic<int> count{0};
  const auto end = after_ms(milliseconds);
  std::vector<std::thread> all;
  for (int64_t i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      const int mine = socket(AF_UNIX, SOCK_STREAM, 0);
      while (before(end)) {
        connect_once(mine, addresses[0]);
        ++count;
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  return count;
}

// Connect to an address that another thread turns into the second one and back. Returns the successes.
extern "C" int race(int64_t type, int64_t milliseconds) {
  Address shared = addresses[0];
  std::atomic<bool> over{false};
  std::thread writer([&] {
    for (int i = 0; !over; ++i) {
      memcpy(shared.bytes, addresses[i % kAddresses].bytes, sizeof shared.bytes);
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
  });
  int successes = 0;
  for (const auto end = after_ms(milliseconds); before(end);) {
    const int mine = socket(AF_UNIX, static_cast<int>(type), 0);
    if (connect_once(mine, shared) == 0) ++successes;
    close(mine);
  }
  over = true;
  writer.join();
  return successes;
}

// Replace the socket, while it is being connected, by others and by nothing. Returns the successes.
extern "C" int juggle(int64_t type, int64_t milliseconds) {
  std::atomic<bool> over{false};
  const int place = 200;
  std::thread writer([&] {
    while (!over) {
      const int fresh = socket(AF_UNIX, static_cast<int>(type), 0);
      fcntl(fresh, F_SETFL, 0);
      dup2(fresh, place);
      close(fresh);
      dup2(0, place);
      close(place);
    }
  });
  int successes = 0;
  for (const auto end = after_ms(milliseconds); before(end);)
    successes += connect_once(place, addresses[0]) == 0;
  over = true;
  writer.join();
  return successes;
}

// Fill the queue of a listener that takes nobody, then wait in a thread. Returns how many fit, to hold on to.
extern "C" int fill_queue(int64_t type) {
  for (int count = 0;; ++count) {
    const int mine = socket(AF_UNIX, static_cast<int>(type) | SOCK_NONBLOCK, 0);
    if (connect_once(mine, addresses[0]) != 0) return errno == EAGAIN ? count : -errno;
  }
}

extern "C" int end_while_connecting(int64_t type, int64_t milliseconds) {
  const int mine = socket(AF_UNIX, static_cast<int>(type), 0);
  std::thread([=] { connect_once(mine, addresses[0]); }).detach();
  usleep(static_cast<useconds_t>(milliseconds * 1000));
  _exit(3);
}

// Keep switching the socket back to waiting in the kernel, then end.
extern "C" int end_while_blocking(int64_t type, int64_t milliseconds) {
  const int mine = socket(AF_UNIX, static_cast<int>(type), 0);
  std::thread([=] {
    for (;;) fcntl(mine, F_SETFL, 0);
  }).detach();
  std::thread([=] {
    for (;;) connect_once(mine, addresses[0]);
  }).detach();
  usleep(static_cast<useconds_t>(milliseconds * 1000));
  _exit(3);
}
