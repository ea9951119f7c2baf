#include "engine_process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sstream>
#include <vector>

extern char** environ;

namespace vgpu {

namespace {

constexpr const char* kSocketVariable = "VGPU_FD";
constexpr const char* kEngineVariable = "VGPU_ENGINE";
constexpr const char* kEngineName = "vgpu-engine";
constexpr int kEngineSocket = 3;  // the descriptor's number in the engine
constexpr int kReapSeconds = 10;

struct Inherited {
  bool given = false;
  int socket = -1;
  std::string text;
};

Inherited take_inherited_socket() {
  Inherited found;
  const char* text = std::getenv(kSocketVariable);
  if (text == nullptr) return found;
  found.given = true;
  found.text = text;
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  int type = 0;
  socklen_t length = sizeof type;
  if (*text != '\0' && *end == '\0' && number >= 0 &&
      getsockopt(static_cast<int>(number), SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM) {
    found.socket = static_cast<int>(number);
    fcntl(found.socket, F_SETFD, FD_CLOEXEC);
  }
  unsetenv(kSocketVariable);
  return found;
}

// Taken when the library is loaded, before the program runs, so that nothing the program starts inherits the
// variable or the descriptor.
const Inherited inherited = take_inherited_socket();

std::string engine_path() {
  if (const char* given = std::getenv(kEngineVariable)) return given;
  Dl_info here{};
  if (dladdr(reinterpret_cast<const void*>(&open_engine), &here) == 0 || here.dli_fname == nullptr)
    return kEngineName;
  const std::string library = here.dli_fname;
  const size_t slash = library.rfind('/');
  return slash == std::string::npos ? kEngineName : library.substr(0, slash + 1) + kEngineName;
}

// What a user may ask of an engine that the program starts by itself.
constexpr struct {
  const char* variable;
  const char* flag;
} kSettings[] = {{"VGPU_PROFILES", "--profiles"}, {"VGPU_PROFILE", "--profile"}, {"VGPU_REPORT", "--report"}};
constexpr const char* kOptionsVariable = "VGPU_OPTIONS";  // "race=off threads=1"

std::vector<std::string> engine_command(const std::string& path) {
  std::vector<std::string> words = {path, "--program-fd", std::to_string(kEngineSocket)};
  for (const auto& setting : kSettings) {
    if (const char* value = std::getenv(setting.variable)) words.insert(words.end(), {setting.flag, value});
  }
  const char* options = std::getenv(kOptionsVariable);
  std::istringstream text(options != nullptr ? options : "");
  for (std::string option; text >> option;) words.insert(words.end(), {"--option", option});
  return words;
}

// A process group of its own keeps the engine alive through the terminal's Ctrl-C until its program has gone
// and its report is written; signals start out as in a fresh process.
int spawn_engine(const std::string& path, int socket, pid_t* child) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, socket, kEngineSocket);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
  posix_spawn_file_actions_addclosefrom_np(&actions, kEngineSocket + 1);
#endif
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> words = engine_command(path);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int failed = posix_spawn(child, path.c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

}  // namespace

EngineLink open_engine() {
  EngineLink link;
  if (inherited.given) {
    link.socket = inherited.socket;
    if (link.socket < 0) {
      link.why = std::string(kSocketVariable) + "=" + inherited.text +
                 " names no open socket: unset it to let the program start an engine of its own";
    }
    return link;
  }
  const std::string path = engine_path();
  if (access(path.c_str(), X_OK) != 0) {
    link.why = "the engine is not at " + path + " (" + std::strerror(errno) +
               "): run the program with ./course run, or set " + kEngineVariable + " to the engine's path";
    return link;
  }
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    link.why = std::string("no socket could be made for the engine: ") + std::strerror(errno);
    return link;
  }
  const int failed = spawn_engine(path, pair[1], &link.child);
  close(pair[1]);
  if (failed != 0) {
    close(pair[0]);
    link.child = 0;
    link.why = "the engine at " + path + " could not be started: " + std::strerror(failed);
    return link;
  }
  link.socket = pair[0];
  return link;
}

void reap_engine(pid_t child) {
  constexpr timespec kPause{0, 2'000'000};
  for (int waited = 0; waited < kReapSeconds * 500; ++waited) {
    const pid_t done = waitpid(child, nullptr, WNOHANG);
    if (done == child || (done < 0 && errno != EINTR)) return;
    nanosleep(&kPause, nullptr);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace vgpu
