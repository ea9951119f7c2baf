#include "host_fault.h"

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "code_place.h"
#include "connection.h"

namespace vgpu {

namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS};
uint64_t range_base = 0, range_bytes = 0;
struct sigaction previous[2];
std::atomic<bool> handling{false};
alignas(16) char handler_stack[64 * 1024];

struct Fault {
  uint64_t pc = 0;
  bool is_write = false;
};

Fault describe(void* context) {
  const auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  constexpr greg_t kWriteBit = 2;  // of the page fault's error code
  return {static_cast<uint64_t>(machine.gregs[REG_RIP]), (machine.gregs[REG_ERR] & kWriteBit) != 0};
#elif defined(__aarch64__)
  return {machine.pc, false};
#else
#error "how does a signal context name the faulting instruction here?"
#endif
}

// Libraries in which a fault is the caller's: memcpy(host, device_pointer, …), std::vector's copies,
// ourselves.
bool is_library_code(const char* file) {
  constexpr const char* kLibraries[] = {"/libc.so",  "/libc-2",      "/libstdc++.so", "/libm.so",
                                        "/ld-linux", "/libgcc_s.so", "/libpthread",   "/libvgpu_runtime.so"};
  for (const char* library : kLibraries) {
    if (std::strstr(file, library) != nullptr) return true;
  }
  return false;
}

struct FaultPlace {
  LoadedCode code;
  uint64_t offset = 0;
};

FaultPlace locate(uint64_t address) {
  const LoadedCode code = find_code(address);
  return {code, address - code.load_address};
}

_Unwind_Reason_Code first_program_frame(_Unwind_Context* frame, void* data) {
  auto& place = *static_cast<FaultPlace*>(data);
  int before_call = 0;
  const uint64_t pc = _Unwind_GetIPInfo(frame, &before_call);
  const FaultPlace here = locate(before_call ? pc : pc - 1);
  if (here.code.file == nullptr || is_library_code(here.code.file)) return _URC_NO_REASON;
  place = here;
  return _URC_END_OF_STACK;
}

// The line to blame: the faulting instruction, or the nearest caller outside the system's libraries.
FaultPlace blame(uint64_t pc) {
  FaultPlace place = locate(pc);
  if (place.code.file != nullptr && is_library_code(place.code.file))
    _Unwind_Backtrace(first_program_frame, &place);
  return place;
}

void report(uint64_t address, const Fault& fault) {
  const FaultPlace place = blame(fault.pc);
  wire::HostFault message{};
  message.address = address;
  message.pc = fault.pc;
  message.module_offset = place.offset;
  message.is_write = fault.is_write;
  if (place.code.file != nullptr && place.code.file[0] != '\0') {
    std::strncpy(message.module, place.code.file, sizeof message.module - 1);
  } else {  // the loader leaves the program's own name out
    const ssize_t length = readlink("/proc/self/exe", message.module, sizeof message.module - 1);
    if (length < 0) message.module[0] = '\0';
  }
  Connection::get().send_from_signal(wire::Request::kHostFault, &message, sizeof message);
  char line[160];
  const int length = std::snprintf(
      line, sizeof line, "virtual GPU: host code %s device pointer 0x%llx: copy it with cudaMemcpy first\n",
      fault.is_write ? "wrote through" : "dereferenced", static_cast<unsigned long long>(address));
  if (write(STDERR_FILENO, line, static_cast<size_t>(length)) < 0) return;
}

void hand_on(int signal, siginfo_t* info, void* context) {
  const struct sigaction& before = previous[signal == kSignals[0] ? 0 : 1];
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  } else {
    ::signal(signal, SIG_DFL);  // the instruction runs again and ends the program the usual way
  }
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<uint64_t>(info->si_addr);
  const bool ours = info->si_code > 0 && address - range_base < range_bytes;
  if (!ours || handling.exchange(true)) {
    hand_on(signal, info, context);
    return;
  }
  report(address, describe(context));
  ::signal(signal, SIG_DFL);
}

}  // namespace

void watch_host_faults(uint64_t device_base, uint64_t device_bytes) {
  range_base = device_base;
  range_bytes = device_bytes;
  stack_t stack{};
  if (sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_DISABLE) != 0) {
    stack.ss_sp = handler_stack;
    stack.ss_size = sizeof handler_stack;
    stack.ss_flags = 0;
    sigaltstack(&stack, nullptr);
  }
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < 2; ++i) sigaction(kSignals[i], &action, &previous[i]);
}

}  // namespace vgpu
