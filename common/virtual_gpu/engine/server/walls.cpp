#include "server/walls.h"

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace vgpu {
namespace {

constexpr long kLandlockRestrictSelf = 446;  // the same on every architecture

void check(long answer, const char* what) {
  if (answer != 0) throw std::runtime_error(std::string(what) + " could not be set: " + std::strerror(errno));
}

void drop_capabilities() {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3]{};
  check(syscall(SYS_capset, &head, none), "an empty set of capabilities");
}

std::vector<sock_filter> read_filter(int file) {
  std::vector<sock_filter> steps;
  sock_filter step;
  for (off_t at = 0; pread(file, &step, sizeof step, at) == sizeof step; at += sizeof step)
    steps.push_back(step);
  return steps;
}

}  // namespace

void enter_walls(const Walls& walls) {
  if (!walls.asked_for) return;
  const rlimit none{0, 0};
  check(setrlimit(RLIMIT_CORE, &none), "a limit on core files");
  drop_capabilities();
  check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
  if (walls.ruleset >= 0) check(syscall(kLandlockRestrictSelf, walls.ruleset, 0), "Landlock");
  if (walls.filter >= 0) {
    std::vector<sock_filter> steps = read_filter(walls.filter);
    const sock_fprog program{static_cast<unsigned short>(steps.size()), steps.data()};
    check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0), "a filter on system calls");
  }
  for (const int file : {walls.ruleset, walls.filter})
    if (file >= 0) close(file);
}

}  // namespace vgpu
