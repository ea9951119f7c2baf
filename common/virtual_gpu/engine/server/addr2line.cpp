#include "server/addr2line.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

extern char** environ;

namespace vgpu {
namespace {

using Clock = std::chrono::steady_clock;

// Milliseconds as a rule; a file with the debug information of a whole framework is not worth the wait.
constexpr std::chrono::seconds kAnswerTime{3};
constexpr int kLookMilliseconds = 100;
constexpr size_t kMostOutput = 16u << 20;

pid_t start(const std::vector<std::string>& command, int output) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  const int failed = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return failed == 0 ? child : -1;
}

// How long a process has waited for a CPU: a busy machine must not cost a finding its line.
std::chrono::nanoseconds waited_for_a_cpu(pid_t process) {
  std::ifstream figures("/proc/" + std::to_string(process) + "/schedstat");
  int64_t ran = 0, waited = 0;
  figures >> ran >> waited;
  return std::chrono::nanoseconds(figures ? waited : 0);
}

std::string output_in_time(int input, pid_t child) {
  const Clock::time_point begin = Clock::now();
  std::string text;
  char piece[4096];
  while (text.size() < kMostOutput) {
    const auto passed = Clock::now() - begin;
    if (passed > kAnswerTime && passed - waited_for_a_cpu(child) > kAnswerTime) break;
    pollfd state{input, POLLIN, 0};
    const int found = poll(&state, 1, kLookMilliseconds);
    if (found < 0) break;
    if (found == 0) continue;
    const ssize_t got = read(input, piece, sizeof piece);
    if (got <= 0) break;
    text.append(piece, static_cast<size_t>(got));
  }
  return text;
}

std::string output_of(const std::vector<std::string>& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  const pid_t child = start(command, ends[1]);
  close(ends[1]);
  std::string text;
  if (child > 0) text = output_in_time(ends[0], child);
  close(ends[0]);
  if (child > 0) {
    kill(child,
         SIGKILL);  // it has ended, or has had its time; where signals are refused, the shell's limit ends it
    waitpid(child, nullptr, 0);
  }
  return text;
}

// "main.cu:22 (discriminator 1)"; the line is 0 where the tool writes "??".
SourcePlace parse_place(const std::string& text, const std::string& function) {
  const size_t end = text.find(" (discriminator"), colon = text.rfind(':', end);
  if (colon == std::string::npos || text[0] == '?') return {};
  const std::string file = std::filesystem::path(text.substr(0, colon)).lexically_normal().string();
  return {file, std::atoi(text.c_str() + colon + 1), function};
}

}  // namespace

LinesByOffset addr2line(const std::string& object_file, const std::vector<uint64_t>& offsets) {
  return parse_addr2line(addr2line_text(object_file, offsets));
}

std::string addr2line_text(const std::string& object_file, const std::vector<uint64_t>& offsets) {
  struct stat details{};
  // The path comes from the program: a pipe or a device must not hold up the engine.
  if (stat(object_file.c_str(), &details) != 0 || !S_ISREG(details.st_mode)) return "";
  // The file may be made to hurt its reader: the shell limits the memory and the time that reading it can
  // take.
  std::vector<std::string> command = {"/bin/sh",
                                      "-c",
                                      "ulimit -v 1048576; ulimit -t 4; exec \"$@\"",
                                      "sh",
                                      "addr2line",
                                      "--addresses",
                                      "--functions",
                                      "--demangle",
                                      "--inlines",
                                      "--exe=" + object_file};
  for (size_t i = 0; i < offsets.size() && i < kMostOffsets; ++i) {
    char offset[24];
    std::snprintf(offset, sizeof offset, "0x%llx", static_cast<unsigned long long>(offsets[i]));
    command.push_back(offset);
  }
  return output_of(command);
}

LinesByOffset parse_addr2line(const std::string& text) {
  LinesByOffset found;
  // An address by itself, then pairs of lines: a function, and the place in it.
  std::istringstream output(text);
  uint64_t offset = 0;
  for (std::string line, place; std::getline(output, line);) {
    if (line.starts_with("0x")) {
      offset = std::strtoull(line.c_str(), nullptr, 16);
    } else if (std::getline(output, place)) {
      const SourcePlace parsed = parse_place(place, line);
      if (parsed.line > 0) found[offset].push_back(parsed);
    }
  }
  return found;
}

}  // namespace vgpu
