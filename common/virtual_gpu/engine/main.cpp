// vgpu-engine: the virtual GPU as a process. Serves one program over a socket it was started with.
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "cost/machine_code.h"
#include "device/memory_limit.h"
#include "json.h"
#include "server/line_helper.h"
#include "server/server.h"
#include "server/walls.h"

namespace {

using vgpu::SessionConfig;

constexpr const char* kUsage =
    "usage: vgpu-engine --program-fd N [--harness-fd N] [--profiles FILE] [--profile ID] [--report PATH]\n"
    "                   [--resources FILE] [--option KEY=VALUE]... [--memory-limit BYTES] [--quiet]\n"
    "                   [--walls RULESET-FD,FILTER-FD --helper-walls RULESET-FD,FILTER-FD]\n"
    "Further arguments may stand in VGPU_ENGINE_ARGUMENTS, for engines that a program starts by itself.\n";

struct Arguments {
  int program_fd = -1, harness_fd = -1;
  std::string profiles, profile;  // empty: what the engine was built with, and its default
  std::string resources;
  uint64_t memory_limit = 0;  // 0: what the machine can spare
  vgpu::Walls walls, helper_walls;
  SessionConfig config;
};

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what);
}

uint64_t to_number(const std::string& name, const std::string& text) {
  uint64_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || end != text.data() + text.size())
    fail(name + " wants a number, not \"" + text + "\"");
  return number;
}

int to_socket(const std::string& name, const std::string& text) {
  const int fd = static_cast<int>(std::min<uint64_t>(to_number(name, text), 1 << 20));
  int type = 0;
  socklen_t length = sizeof type;
  if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_STREAM)
    fail(name + " " + text + " is not a stream socket that this process has inherited");
  return fd;
}

vgpu::Walls to_walls(const std::string& name, const std::string& text) {
  vgpu::Walls walls;
  walls.asked_for = true;
  if (std::sscanf(text.c_str(), "%d,%d", &walls.ruleset, &walls.filter) != 2)
    fail(name + " wants two descriptors, not \"" + text + "\"");
  return walls;
}

void set_option(Arguments& arguments, const std::string& text) {
  const size_t equals = text.find('=');
  std::string error = "expected KEY=VALUE";
  if (equals == std::string::npos ||
      !arguments.config.options.set(text.substr(0, equals), text.substr(equals + 1), &error))
    fail("--option " + text + ": " + error);
}

struct Flag {
  const char* name;
  void (*take)(Arguments&, const std::string& name, const std::string& value);
};

constexpr Flag kFlags[] = {
    {"--program-fd",
     [](Arguments& a, const std::string& n, const std::string& v) { a.program_fd = to_socket(n, v); }},
    {"--harness-fd",
     [](Arguments& a, const std::string& n, const std::string& v) { a.harness_fd = to_socket(n, v); }},
    {"--profiles", [](Arguments& a, const std::string&, const std::string& v) { a.profiles = v; }},
    {"--profile", [](Arguments& a, const std::string&, const std::string& v) { a.profile = v; }},
    {"--report", [](Arguments& a, const std::string&, const std::string& v) { a.config.report_path = v; }},
    {"--resources", [](Arguments& a, const std::string&, const std::string& v) { a.resources = v; }},
    {"--option", [](Arguments& a, const std::string&, const std::string& v) { set_option(a, v); }},
    {"--walls", [](Arguments& a, const std::string& n, const std::string& v) { a.walls = to_walls(n, v); }},
    {"--helper-walls",
     [](Arguments& a, const std::string& n, const std::string& v) { a.helper_walls = to_walls(n, v); }},
    {"--memory-limit",
     [](Arguments& a, const std::string& n, const std::string& v) { a.memory_limit = to_number(n, v); }},
};

Arguments parse(const std::vector<std::string>& words) {
  Arguments arguments;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--quiet") {
      arguments.config.quiet = true;
      continue;
    }
    const Flag* flag = nullptr;
    for (const Flag& candidate : kFlags)
      if (words[i] == candidate.name) flag = &candidate;
    if (flag == nullptr) fail("unknown argument \"" + words[i] + "\"\n" + kUsage);
    if (i + 1 == words.size()) fail(words[i] + " wants a value\n" + kUsage);
    flag->take(arguments, words[i], words[i + 1]);
    ++i;
  }
  if (arguments.program_fd < 0) fail(std::string("--program-fd is missing\n") + kUsage);
  return arguments;
}

std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (const char* more = std::getenv("VGPU_ENGINE_ARGUMENTS")) {
    std::istringstream text(more);
    for (std::string word; text >> word;) words.push_back(word);
  }
  return words;
}

void read_resources(const std::string& path, SessionConfig& config) {
  if (path.empty()) return;
  try {
    const vgpu::json::Value file = vgpu::json::parse_file(path);
    if (const auto* code = file.get("device_code")) config.device_code = code->string();
    const auto* kernels = file.get("kernels");
    if (kernels == nullptr) fail("--resources: there is no \"kernels\" in " + path);
    for (const auto& [kernel, resources] : kernels->object()) {
      const auto* registers = resources.get("registers");
      if (registers == nullptr) continue;
      vgpu::KernelFacts& facts = config.compiled[kernel];
      facts.registers = static_cast<int>(registers->number());
      if (const auto* machine = resources.get("machine"))
        facts.machine = std::make_shared<vgpu::MachineCode>(*machine);
    }
  } catch (const std::runtime_error& error) {
    fail(std::string("--resources: ") + error.what());
  }
}

// A request to stop is honoured between requests and soon inside a kernel. The alarm wakes a wait that was
// entered just as the signal came, and ends the process when nothing else does. Shared memory goes with it.
void on_stop(int signal) {
  static volatile int alarms = 0;
  if (signal == SIGALRM) alarms = alarms + 1;
  if (alarms > 2) _exit(1);
  vgpu::stop_signal = signal;
  alarm(1);
}

void set_up_signals() {
  struct sigaction stop{};
  stop.sa_handler = on_stop;
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGALRM}) sigaction(signal, &stop, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a file-size limit then shows as an error that has a fallback
}

}  // namespace

int main(int argc, char** argv) {
  try {
    set_up_signals();
    Arguments arguments = parse(words_of(argc, argv));
    SessionConfig& config = arguments.config;
    config.profile = vgpu::load_profile(arguments.profiles, arguments.profile);
    read_resources(arguments.resources, config);
    config.memory_limit = arguments.memory_limit != 0
                              ? arguments.memory_limit
                              : vgpu::default_memory_limit(config.profile.memory_bytes);
    std::unique_ptr<vgpu::LineHelper> helper;
    if (arguments.walls.asked_for) {
      const vgpu::Walls& walls = arguments.walls;
      const std::vector<int> ours = {arguments.program_fd, arguments.harness_fd, walls.ruleset, walls.filter};
      helper = std::make_unique<vgpu::LineHelper>(arguments.helper_walls, ours);
      for (const int file : {arguments.helper_walls.ruleset, arguments.helper_walls.filter}) close(file);
      config.look_up_lines = [&](const std::string& file, const std::vector<uint64_t>& offsets) {
        return helper->look_up(file, offsets);
      };
      vgpu::enter_walls(walls);
    }
    vgpu::Server(std::move(config), arguments.program_fd, arguments.harness_fd).run();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "vgpu-engine: %s\n", error.what());
    return 1;
  }
}
