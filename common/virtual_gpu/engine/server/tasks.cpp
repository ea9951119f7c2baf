// How the session does each kind of task when its turn comes.
#include <algorithm>
#include <chrono>

#include "blas/run.h"
#include "checks/host_findings.h"
#include "cost.h"
#include "cuda_error.h"
#include "exec/child_work.h"
#include "exec/module.h"
#include "server/session.h"

namespace vgpu {
namespace {

// Text the program has not fetched yet; a program that never asks must not make the engine grow.
constexpr size_t kPrintfKept = 16u << 20;

bool touches_host(const CopyPlan& plan) {
  return plan.dst.packed || plan.src.packed || !DeviceMemory::in_device_arena(plan.dst.address) ||
         !DeviceMemory::in_device_arena(plan.src.address);
}

// An op is known to the cost model by its number; its line, to the module that it came from.
void name_lines(Timeline& timeline, const LaunchRequest& request) {
  if (timeline.spans.empty()) return;
  auto& module = static_cast<ModuleImage&>(*request.module);
  const KernelCode& kernel = module.code_of(request.kernel);
  for (TimelineSpan& span : timeline.spans) {
    const std::vector<SourcePlace> place = module.students_place(kernel.origins[span.op].loc, kernel);
    span.line = place.empty() ? 0 : place.front().line;
  }
}

}  // namespace

int Session::run_task(const Work& work, double* seconds) {
  return std::visit([&](const auto& task) { return run(task, work, seconds); }, *work.task);
}

int Session::run(const MarkerTask&, const Work&, double*) {
  return cuda::kSuccess;
}

int Session::run(const EventTask&, const Work&, double*) {
  return cuda::kSuccess;  // a place in the order
}

// The grid, and then everything that its device code has asked for: what a task asks for itself comes before
// the next task, and tail launches after all others.
int Session::run(const LaunchTask& task, const Work& work, double* seconds) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<ChildTask> waiting{{task.request}};
  while (!waiting.empty()) {
    const ChildTask next = std::move(waiting.back());
    waiting.pop_back();
    double taken = 0;
    ChildWork children(memory, conditions);
    const int error = std::visit(
        [&](const auto& what) {
          using What = std::decay_t<decltype(what)>;
          if constexpr (std::is_same_v<What, LaunchRequest>)
            return run_grid(what, work, children, &taken);
          else if constexpr (std::is_same_v<What, CopyPlan>)
            return run(CopyTask{what}, work, &taken);
          else
            return run(FillTask{what}, work, &taken);
        },
        next.what);
    *seconds += taken;
    if (error != cuda::kSuccess) return error;
    const std::chrono::duration<double> so_far = std::chrono::steady_clock::now() - begin;
    if (!children.tasks.empty() && so_far.count() > config.options.max_seconds) {
      tell("the launches that kernel " + demangle(task.request.kernel->name) +
           " began in device code were stopped after " + std::to_string(static_cast<int>(so_far.count())) +
           " s; --max-seconds (max_seconds in VGPU_OPTIONS) raises the limit");
      return cuda::kLaunchTimeout;
    }
    for (const bool at_the_end : {true, false})
      for (auto asked = children.tasks.rbegin(); asked != children.tasks.rend(); ++asked)
        if (asked->at_the_end == at_the_end) waiting.push_back(std::move(*asked));
  }
  return cuda::kSuccess;
}

int Session::run_grid(LaunchRequest request, const Work& work, ChildWork& children, double* seconds) {
  request.stream = work.stream;
  request.index = report.next_index();
  LaunchEnvironment env = environment();
  env.children = &children;
  const size_t printed_before = printf_output.size();
  LaunchReport figures = run_launch(request, env);
  memory.forget_old_ones();
  report.traffic.printed_bytes += printf_output.size() - printed_before;
  if (should_stop_()) {  // half a launch has no figures worth keeping
    report.traffic.dropped_launches += 1;
    return cuda::kLaunchFailure;
  }
  const KernelInfo& kernel = *request.kernel;
  const int threads = static_cast<int>(request.block.count());
  figures.stream = work.stream;
  figures.occupancy_blocks = occupancy_blocks(kernel, threads, request.dynamic_shared, config.profile);
  figures.registers = kernel.registers;
  figures.registers_estimated = kernel.registers_estimated;
  const int shown = request.index < Report::kLaunchesWithTimeline ? config.options.timeline : 0;
  // A launch that failed has run in part, or would have run for ever: it has no time.
  if (figures.error != cuda::kSuccess) figures.sample.reset();
  const CallsInGraph calls{config.options.calls_in_graph, static_cast<double>(memory.used())};
  ModelledLaunch modelled = model_launch(figures, config.profile, l2, calls, shown);
  name_lines(modelled.timeline, request);
  figures.modelled_seconds = modelled.seconds;
  figures.unlike_replayed = modelled.unlike_replayed;
  figures.sample.reset();
  *seconds = modelled.body.seconds;
  const int error = figures.error;
  report.add_launch(std::move(figures), modelled, work.in_graph);
  if (printf_output.size() > kPrintfKept) printf_output.resize(kPrintfKept);
  return error;
}

int Session::run(const CopyTask& task, const Work&, double* seconds) {
  // The packed side of a synchronous copy is the staging area itself; a queued copy brought its own bytes.
  uint8_t* staged = staging.data() + task.staging_offset;
  Finding finding;
  const int error =
      run_copy(task.plan, staged, task.packed.empty() ? staged : task.packed.data(), memory, &finding);
  const bool unwritten = finding.mistake == Mistake::kUnwrittenTransfer;
  // A copy too long for the staging area comes in pieces: one may be unwritten when the whole is not.
  const uint64_t bytes = task.plan.bytes(), source = task.plan.src.address;
  const bool goes_on = task.plan.dst.packed && source == last_read_.end && last_read_.written;
  last_read_ = bytes > kStagingBytes / 2 ? ReadPiece{source + bytes, !unwritten || goes_on} : ReadPiece{};
  if (unwritten ? config.options.check_init && !goes_on : config.options.check_memory)
    add_finding(std::move(finding), task.caller);
  report.traffic.copies += 1;
  call.copies_outside += call.outside() ? 1 : 0;
  report.traffic.copied_bytes += bytes;
  if (task.plan.dst.packed || !DeviceMemory::in_device_arena(task.plan.dst.address))
    report.traffic.to_host_bytes += bytes;
  l2.pass(bytes);
  *seconds = touches_host(task.plan) ? model_host_copy(bytes, config.profile)
                                     : model_device_copy(bytes, config.profile);
  return error;
}

int Session::run(const FillTask& task, const Work&, double* seconds) {
  Finding finding;
  const int error = run_fill(task.plan, memory, &finding);
  if (config.options.check_memory) add_finding(std::move(finding), task.caller);
  report.traffic.fills += 1;
  call.copies_outside += call.outside() ? 1 : 0;
  report.traffic.filled_bytes += task.plan.bytes();
  l2.pass(task.plan.bytes());
  *seconds = model_fill(task.plan.bytes(), config.profile);
  return error;
}

int Session::run(const AllocateTask& task, const Work&, double*) {
  memory.allocate_reserved(task.reservation);
  return cuda::kSuccess;
}

int Session::run(const FreeTask& task, const Work&, double*) {
  const DeviceMemory::FreeResult freed =
      memory.release(task.address, AllocKind::kDevice, task.by + host_code.mention(task.caller));
  if (task.reservation != nullptr && freed != DeviceMemory::FreeResult::kOk) {
    // When it was queued there was a launch to allocate it, but nothing says that the launch comes first.
    Finding finding = checks::free_before_allocation(task.by, task.address, *task.reservation);
    if (config.options.check_memory) add_finding(std::move(finding), task.caller);
    return cuda::kIllegalAddress;
  }
  frees_queued.erase(task.address);
  return cuda::kSuccess;
}

int Session::run(const BlasTask& task, const Work&, double* seconds) {
  blas::Outcome outcome = blas::run(task.call, memory, config.options.check_init, config.profile);
  const bool is_wanted = outcome.error == cuda::kSuccess || config.options.check_memory;
  if (is_wanted) add_finding(std::move(outcome.finding), task.caller);
  *task.number = outcome.number;
  *seconds = outcome.seconds;
  return outcome.error;
}

// One node of a body after the other: each stands behind those that it waits for.
int Session::run(const ConditionalTask& task, const Work& work, double* seconds) {
  const auto found = conditions.find(task.condition);
  if (found == conditions.end()) return cuda::kInvalidValue;
  const auto begin = std::chrono::steady_clock::now();
  const auto run_body = [&](size_t index) {
    for (const Graph::Node& node : task.bodies[index]->nodes) {
      double taken = 0;
      const int error = std::visit([&](const auto& own) { return run(own, work, &taken); }, *node.task);
      *seconds += taken;
      if (error != cuda::kSuccess) return error;
    }
    return static_cast<int>(cuda::kSuccess);
  };
  const uint32_t& value = found->second.value;
  switch (task.kind) {
    case wire::ConditionalKind::kAssignDefault:
      found->second.value = found->second.first_value;
      return cuda::kSuccess;
    case wire::ConditionalKind::kIf:  // the second body is for 0
      if (value != 0) return run_body(0);
      return task.bodies.size() > 1 ? run_body(1) : cuda::kSuccess;
    case wire::ConditionalKind::kSwitch:
      return value < task.bodies.size() ? run_body(value) : cuda::kSuccess;
    case wire::ConditionalKind::kWhile:
      break;
  }
  while (value != 0) {
    if (const int error = run_body(0); error != cuda::kSuccess) return error;
    const std::chrono::duration<double> so_far = std::chrono::steady_clock::now() - begin;
    if (so_far.count() > config.options.max_seconds || should_stop_()) {
      tell("the loop of a conditional node of a graph was stopped after " +
           std::to_string(static_cast<int>(so_far.count())) +
           " s; --max-seconds (max_seconds in VGPU_OPTIONS) raises the limit");
      return cuda::kLaunchTimeout;
    }
  }
  return cuda::kSuccess;
}

int Session::run(const CallBoundTask& task, const Work&, double*) {
  (task.begins ? call.began : call.ended) = report.next_index();
  return cuda::kSuccess;
}

int Session::run(const HostTask&, const Work&, double*) {
  return cuda::kSuccess;  // the scheduler hands these to the program
}

}  // namespace vgpu
