// A library that tries what student code must not be able to do. Each entry point returns 0 when its attempt
// succeeded and the errno when it was refused; some never return.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

namespace {

constexpr size_t kMegabyte = 1 << 20;
constexpr int kMostDescriptors = 1 << 16;
char path[4096];
size_t path_length = 0;
char block[kMegabyte];

void* sleep_for_ever(void*) {
  for (;;) pause();
}

int write_blocks(int descriptor, int64_t megabytes) {
  memset(block, 'x', sizeof block);
  for (int64_t i = 0; i < megabytes; ++i) {
    if (write(descriptor, block, sizeof block) < 0) return errno;
  }
  return 0;
}

bool is_open(int descriptor) {
  return fcntl(descriptor, F_GETFD) >= 0;
}

}  // namespace

// Entry points take numbers only, so a path arrives eight bytes at a time.
extern "C" int push_path(uint64_t bytes) {
  memcpy(path + path_length, &bytes, sizeof bytes);
  path_length += sizeof bytes;
  path[path_length] = 0;
  return 0;
}

extern "C" int clear_path() {
  path_length = 0;
  path[0] = 0;
  return 0;
}

// A system call by its number. Arguments whose bit is set in `paths` are the address of the path.
extern "C" int attempt(int64_t number, int32_t paths, int64_t a, int64_t b, int64_t c, int64_t d) {
  const auto address = reinterpret_cast<int64_t>(path);
  const int64_t arguments[4] = {paths & 1 ? address : a, paths & 2 ? address : b, paths & 4 ? address : c,
                                paths & 8 ? address : d};
  const int worker = getpid();
  const long answer = syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], 0L, 0L);
  const int problem = errno;
  if (getpid() != worker) _exit(0);
  return answer < 0 ? problem : 0;
}

extern "C" int parent() {
  return getppid();
}

extern "C" int start_thread() {
  pthread_t thread;
  return pthread_create(&thread, nullptr, sleep_for_ever, nullptr);
}

extern "C" int start_threads(int32_t count) {
  for (int i = 0; i < count; ++i) {
    if (const int problem = start_thread()) return problem;
  }
  sleep_for_ever(nullptr);
  return 0;
}

extern "C" int load_hidden_library() {
  return dlopen(path, RTLD_NOW) == nullptr ? EACCES : 0;
}

// Their own code from a nameless file is still only their code: it stays behind the same walls.
extern "C" int load_from_memory() {
  Dl_info self;
  if (dladdr(reinterpret_cast<void*>(&load_from_memory), &self) == 0) return EINVAL;
  const int from = open(self.dli_fname, O_RDONLY);
  const int to = memfd_create("library", 0);
  if (from < 0 || to < 0) return errno;
  ssize_t got;
  while ((got = read(from, block, sizeof block)) > 0) {
    if (write(to, block, got) != got) return errno;
  }
  const std::string name = "/proc/self/fd/" + std::to_string(to);
  void* const again = dlopen(name.c_str(), RTLD_NOW);
  if (again == nullptr) return ENOEXEC;
  auto* const call = reinterpret_cast<int (*)(int64_t, int32_t, int64_t, int64_t, int64_t, int64_t)>(
      dlsym(again, "attempt"));
  return call(SYS_socket, 0, AF_INET, SOCK_STREAM, 0, 0) == EPERM ? 0 : EFAULT;
}

extern "C" int open_many(int32_t count) {
  for (int i = 0; i < count; ++i) {
    if (open("/dev/null", O_RDONLY) < 0) return errno;
  }
  return 0;
}

extern "C" int loop() {
  for (;;) asm volatile("");
}

extern "C" int stop_itself() {
  raise(SIGSTOP);
  return 0;
}

extern "C" int end_quietly() {
  _exit(0);
}

extern "C" int old_system_call() {
#if defined(__x86_64__)
  int answer = 20;  // getpid, as a 32-bit program asks
  asm volatile("int $0x80" : "+a"(answer)::"memory");
#else
  raise(SIGSYS);
#endif
  return 0;
}

extern "C" int eat_memory(int64_t megabytes) {
  for (int64_t i = 0; i < megabytes; ++i) memset(new char[kMegabyte], 1, kMegabyte);
  sleep_for_ever(nullptr);
  return 0;
}

// Memory that no page table shows: only the open file holds it.
extern "C" int eat_nameless_files(int64_t megabytes) {
  for (int64_t i = 0; i < megabytes; i += 32) {
    const int file = memfd_create("hoard", 0);
    if (file < 0) return errno;
    if (const int problem = write_blocks(file, 32)) return problem;
  }
  sleep_for_ever(nullptr);
  return 0;
}

// Memory that is mapped and filled, and then taken out of the page tables: a limit on addresses must hold it.
extern "C" int hide_memory(int64_t megabytes) {
  for (int64_t i = 0; i < megabytes; i += 64) {
    const size_t bytes = 64 * kMegabyte;
    void* const hidden = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (hidden == MAP_FAILED) return errno;
    memset(hidden, 1, bytes);
    madvise(hidden, bytes, MADV_DONTNEED);
  }
  return 0;
}

extern "C" int flood_output(int64_t megabytes) {
  const int problem = write_blocks(STDOUT_FILENO, megabytes);
  usleep(500000);
  return problem;
}

extern "C" int fill_disk(int64_t megabytes) {
  for (int64_t i = 0; i < megabytes; i += 16) {
    const std::string name = "filler-" + std::to_string(i);
    const int file = open(name.c_str(), O_CREAT | O_WRONLY, 0600);
    if (file < 0) return errno;
    const int problem = write_blocks(file, 16);
    close(file);
    if (problem != 0) return problem;
  }
  sleep_for_ever(nullptr);
  return 0;
}

extern "C" int make_files(int32_t count) {
  for (int i = 0; i < count; ++i) {
    const std::string name = "file-" + std::to_string(i);
    const int file = open(name.c_str(), O_CREAT | O_WRONLY, 0);
    if (file < 0) return errno;
    close(file);
  }
  sleep_for_ever(nullptr);
  return 0;
}

extern "C" int grow_one_file() {
  const int file = open("grown", O_CREAT | O_WRONLY, 0600);
  return file < 0 ? errno : write_blocks(file, 1 << 20);
}

extern "C" int close_everything() {
  for (int i = 0; i < kMostDescriptors; ++i) close(i);
  return 0;
}

extern "C" int close_everything_and_stay() {
  close_everything();
  sleep_for_ever(nullptr);
  return 0;
}

// On every descriptor there is: text that an answer could be mistaken for, once for each turn up to 64.
extern "C" int fake_answers() {
  for (int i = 0; i < kMostDescriptors; ++i) {
    if (!is_open(i)) continue;
    for (int turn = 1; turn < 64; ++turn) {
      dprintf(i, "{\"turn\": %d, \"returned\": [12345]}\n", turn);
    }
  }
  return 0;
}

// Answers that no worker gives, or gives to another question.
extern "C" int babble(int32_t form, int32_t turn) {
  const std::string head = "{\"turn\": " + std::to_string(turn) + ", ";
  const std::string forms[] = {
      std::string(1 << 20, 'x'),
      "no JSON\n",
      std::string(60000, '[') + "\n",
      head + "\"returned\": [" + std::string(5000, '9') + "]}\n",
      head + "\"returned\": 0}\n",
      head + "\"returned\": [0], \"points\": 100}\n",
      std::string("\xff\xfe\0\x01\n", 5),
      head + "\"returned\": [true]}\n",
      head + "\"returned\": [0, 0]}\n",
      head + "\"returned\": [99999999999]}\n",
      head + "\"returned\": [" + std::string(30000, '[') + std::string(30000, ']') + "]}\n",
      "[1, 2, 3]\n",
      "{\"turn\": 99, \"returned\": [0]}\n",
  };
  for (int i = 3; i < kMostDescriptors; ++i) {
    if (is_open(i)) send(i, forms[form].data(), forms[form].size(), MSG_NOSIGNAL);
  }
  sleep_for_ever(nullptr);
  return 0;
}
