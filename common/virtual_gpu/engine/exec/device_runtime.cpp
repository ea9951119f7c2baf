#include "exec/device_runtime.h"

#include <cstring>
#include <iterator>

#include "checks/launch_findings.h"
#include "checks/report.h"
#include "cuda_error.h"
#include "exec/access.h"
#include "exec/builtins.h"
#include "exec/child_work.h"

namespace vgpu {

namespace {

constexpr std::string_view kPrefix = "__cudaCDP2", kTwin = "_ptsz";
constexpr uint64_t kTailStream = 3;  // cudaStreamTailLaunch
constexpr int kRuntimeVersion = 13000;
constexpr uint64_t kRuntimeCost = 200;  // of the block's budget of instructions, for each call

struct DeviceCall {
  Warp& w;
  const CallSite& site;
  int lane;
  const Op& op;
  ChildWork& children;

  Block& block() const { return *w.block; }
  uint64_t argument(size_t i) const { return call_argument(w, site, i, lane); }
  Dim3 dim(size_t i) const {
    return {call_word(w, site, i, 0, lane), call_word(w, site, i, 1, lane), call_word(w, site, i, 2, lane)};
  }
  // Writes an answer where the program wants it; a wild pointer is left alone.
  template <class T>
  int give(uint64_t address, T value) const {
    return write_generic(w, lane, address, sizeof value, &value) ? cuda::kSuccess : cuda::kInvalidValue;
  }
  uint64_t thread() const { return block().linear << 10 | block().thread_of(w, lane); }
};

// The kernel that a function's address in device code means; nullptr for any other.
KernelInfo* kernel_at(const DeviceCall& call, uint64_t address) {
  ModuleImage& module = call.block().launch->module;
  const uint64_t index = (address - kFunctionBase) / 16;
  if (address < kFunctionBase || index >= module.text().functions.size()) return nullptr;
  return module.kernel(module.text().functions[index].name);
}

int queue(const DeviceCall& call, ChildTask task) {
  if (call.children.tasks.size() >= ChildWork::kMost) return cuda::kLaunchPendingCountExceeded;
  call.children.tasks.push_back(std::move(task));
  return cuda::kSuccess;
}

int launch_prepared(const DeviceCall& call, const ChildWork::Prepared& prepared, uint64_t buffer,
                    uint64_t stream) {
  const Launch& parent = *call.block().launch;
  LaunchRequest request;
  request.module = parent.request.module;
  request.kernel = kernel_at(call, prepared.function);
  if (request.kernel == nullptr) return cuda::kInvalidDeviceFunction;
  request.grid = prepared.grid;
  request.block = prepared.block;
  request.dynamic_shared = prepared.shared;
  request.index = parent.request.index;
  const bool at_the_end = stream == kTailStream;
  request.depth = parent.request.depth + (at_the_end ? 0 : 1);
  if (request.depth >= ChildWork::kDeepest) return cuda::kLaunchMaxDepthExceeded;
  std::string message;
  if (const int error = check_launch(request, parent.env, &message); error != cuda::kSuccess) {
    checks::child_refused(call.w, call.op, call.lane, message);
    return error;
  }
  if (const uint32_t bytes = request.kernel->param_bytes; bytes > 0) {
    const Allocation* home = parent.env.memory.find(buffer);
    if (home == nullptr || bytes > home->end() - buffer) return cuda::kInvalidValue;
    request.params.assign(DeviceMemory::host(buffer), DeviceMemory::host(buffer) + bytes);
  }
  return queue(call, {std::move(request), at_the_end});
}

uint64_t get_parameter_buffer(const DeviceCall& call) {
  const KernelInfo* kernel = kernel_at(call, call.argument(0));
  if (kernel == nullptr) return 0;
  const uint64_t address = call.children.parameter_buffer(kernel->param_bytes);
  if (address != 0)
    call.children.prepared[address] = {call.argument(0), call.dim(1), call.dim(2),
                                       static_cast<uint32_t>(call.argument(3))};
  return address;
}

// (align, bytes), and then cudaLaunchDevice with everything else.
uint64_t get_plain_buffer(const DeviceCall& call) {
  return call.children.parameter_buffer(call.argument(1));
}

uint64_t launch_device(const DeviceCall& call) {
  const auto found = call.children.prepared.find(call.argument(0));
  if (found == call.children.prepared.end()) return cuda::kInvalidValue;
  const ChildWork::Prepared prepared = found->second;
  call.children.prepared.erase(found);
  return static_cast<uint64_t>(launch_prepared(call, prepared, call.argument(0), call.argument(1)));
}

uint64_t launch_device_plain(const DeviceCall& call) {
  const ChildWork::Prepared prepared{call.argument(0), call.dim(2), call.dim(3),
                                     static_cast<uint32_t>(call.argument(4))};
  return static_cast<uint64_t>(launch_prepared(call, prepared, call.argument(1), call.argument(5)));
}

uint64_t peek_at_last_error(const DeviceCall& call) {
  const auto found = call.children.last_errors.find(call.thread());
  return found == call.children.last_errors.end() ? 0 : static_cast<uint64_t>(found->second);
}

uint64_t get_last_error(const DeviceCall& call) {
  const uint64_t error = peek_at_last_error(call);
  call.children.last_errors.erase(call.thread());
  return error;
}

uint64_t make_handle(const DeviceCall& call) {
  return static_cast<uint64_t>(call.give(call.argument(0), call.children.next_handle++));
}

uint64_t do_nothing(const DeviceCall&) {
  return cuda::kSuccess;
}

uint64_t get_device(const DeviceCall& call) {
  return static_cast<uint64_t>(call.give<int>(call.argument(0), 0));
}

uint64_t get_device_count(const DeviceCall& call) {
  return static_cast<uint64_t>(call.give<int>(call.argument(0), 1));
}

uint64_t get_version(const DeviceCall& call) {
  return static_cast<uint64_t>(call.give<int>(call.argument(0), kRuntimeVersion));
}

uint64_t queue_transfer(const DeviceCall& call, int error, const Finding& finding, ChildTask task) {
  if (error != cuda::kSuccess && !finding.message.empty())
    checks::child_refused(call.w, call.op, call.lane, finding.message);
  return static_cast<uint64_t>(error != cuda::kSuccess ? error : queue(call, std::move(task)));
}

uint64_t copy_async(const DeviceCall& call) {
  CopyPlan plan;
  plan.dst.address = call.argument(0);
  plan.src.address = call.argument(1);
  plan.width = plan.dst.pitch = plan.src.pitch = call.argument(2);
  plan.height = 1;
  if (plan.is_empty()) return cuda::kSuccess;
  constexpr uint32_t kAnyDirection = 4;  // cudaMemcpyDefault
  Finding finding;
  const int error = check_copy(plan, kAnyDirection, call.block().launch->env.memory, &finding);
  return queue_transfer(call, error, finding, {plan, call.argument(4) == kTailStream});
}

uint64_t fill_async(const DeviceCall& call) {
  FillPlan plan;
  plan.address = call.argument(0);
  plan.value = static_cast<uint32_t>(call.argument(1) & 0xff);
  plan.width = plan.pitch = call.argument(2);
  plan.height = 1;
  if (plan.is_empty()) return cuda::kSuccess;
  Finding finding;
  const int error = check_fill(plan, call.block().launch->env.memory, &finding);
  return queue_transfer(call, error, finding, {plan, call.argument(3) == kTailStream});
}

uint64_t allocate_memory(const DeviceCall& call) {
  const Allocation* made = heap_allocation(call.w, call.op, call.argument(1));
  if (made == nullptr) return cuda::kMemoryAllocation;
  return static_cast<uint64_t>(call.give(call.argument(0), made->base));
}

uint64_t free_memory(const DeviceCall& call) {
  free_to_heap(call.w, call.site, 1u << call.lane, call.op);
  return cuda::kSuccess;
}

uint64_t set_condition(const DeviceCall& call) {
  const auto found = call.children.conditions.find(call.argument(0));
  if (found == call.children.conditions.end())
    checks::unknown_condition(call.w, call.op, call.lane);
  else
    found->second.value = static_cast<uint32_t>(call.argument(1));
  return cuda::kSuccess;
}

// What CUDA says of the errors that these functions answer with.
struct DeviceErrorText {
  int code;
  const char* name;
  const char* text;
};
constexpr DeviceErrorText kDeviceErrors[] = {
    {cuda::kSuccess, "cudaSuccess", "no error"},
    {cuda::kInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cuda::kMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cuda::kInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cuda::kLaunchMaxDepthExceeded, "cudaErrorLaunchMaxDepthExceeded",
     "launch would exceed maximum depth of nested launches"},
    {cuda::kLaunchPendingCountExceeded, "cudaErrorLaunchPendingCountExceeded",
     "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount"},
    {cuda::kInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cuda::kNotSupported, "cudaErrorNotSupported", "operation not supported"},
};
constexpr DeviceErrorText kOtherError{-1, "unrecognized error code", "unrecognized error code"};

const DeviceErrorText& error_text(const DeviceCall& call) {
  for (const DeviceErrorText& row : kDeviceErrors)
    if (row.code == static_cast<int>(call.argument(0))) return row;
  return kOtherError;
}

uint64_t get_error_name(const DeviceCall& call) {
  return call.children.text_address(error_text(call).name);
}

uint64_t get_error_string(const DeviceCall& call) {
  return call.children.text_address(error_text(call).text);
}

struct RuntimeFunction {
  std::string_view name;
  uint64_t (*run)(const DeviceCall& call);
  bool answers_with_error = true;  // which cudaGetLastError then knows
};

constexpr RuntimeFunction kRuntimeFunctions[] = {
    {"GetParameterBufferV2", get_parameter_buffer, false},
    {"GetParameterBuffer", get_plain_buffer, false},
    {"LaunchDeviceV2", launch_device},
    {"LaunchDevice", launch_device_plain},
    {"GetLastError", get_last_error, false},
    {"PeekAtLastError", peek_at_last_error, false},
    {"GetErrorName", get_error_name, false},
    {"GetErrorString", get_error_string, false},
    {"StreamCreateWithFlags", make_handle},
    {"StreamDestroy", do_nothing},
    {"StreamWaitEvent", do_nothing},
    {"EventCreateWithFlags", make_handle},
    {"EventRecord", do_nothing},
    {"EventRecordWithFlags", do_nothing},
    {"EventDestroy", do_nothing},
    {"GetDevice", get_device},
    {"GetDeviceCount", get_device_count},
    {"RuntimeGetVersion", get_version},
    {"Malloc", allocate_memory},
    {"Free", free_memory},
    {"MemcpyAsync", copy_async},
    {"MemsetAsync", fill_async},
    {"GraphSetConditional", set_condition, false},
};

}  // namespace

std::string device_runtime_name(std::string_view name) {
  if (name == "cudaGraphSetConditional") return std::string(name);
  if (!name.starts_with(kPrefix)) return "";
  name.remove_prefix(kPrefix.size());
  if (name.ends_with(kTwin)) name.remove_suffix(kTwin.size());
  return "cuda" + std::string(name);
}

int device_runtime_function(std::string_view name) {
  const std::string called = device_runtime_name(name);
  for (size_t i = 0; i < std::size(kRuntimeFunctions); ++i)
    if (!called.empty() && kRuntimeFunctions[i].name == std::string_view(called).substr(4))
      return static_cast<int>(i);
  return -1;
}

void call_device_runtime(Warp& w, const CallSite& site, Mask lanes, const Op& op, int function) {
  const RuntimeFunction& called = kRuntimeFunctions[function];
  for (Mask m = lanes; m != 0; m &= m - 1) {
    const DeviceCall call{w, site, first_lane(m), op, *w.block->launch->env.children};
    const uint64_t result = called.run(call);
    if (called.answers_with_error && result != 0)
      call.children.last_errors[call.thread()] = static_cast<int>(result);
    set_call_result(w, site, call.lane, result);
    w.block->instructions += kRuntimeCost;
  }
}

}  // namespace vgpu
