#include "server/session.h"

#include <algorithm>
#include <cstdio>

#include "checks/driver_words.h"
#include "checks/heap_findings.h"
#include "cuda_error.h"

namespace vgpu {
namespace {

constexpr uint64_t kMostPrintf = 16u << 20;  // bytes that a launch may print

Scheduler::LaunchCosts launch_costs(const Profile& profile) {
  return {profile.launch_floor_us * 1e-6, profile.launch_gap_us * 1e-6, profile.graph_gap_us * 1e-6};
}

}  // namespace

Session::Session(SessionConfig given, std::function<bool()> should_stop)
    : config(std::move(given)),
      memory(config.memory_limit),
      staging("vgpu-staging", 0, kStagingBytes, kStagingBytes),
      l2(config.profile.l2_bytes),
      scheduler([this](const Work& work, double* seconds) { return run_task(work, seconds); },
                launch_costs(config.profile)),
      streams(scheduler),
      host_code(config.look_up_lines),
      should_stop_(std::move(should_stop)) {}

Session::~Session() {
  scheduler.drop_all();
}

LaunchEnvironment Session::environment() {
  constexpr uint32_t kPrintfFifoSize = 1;  // cudaLimit
  // Each thread of the engine may hold as much: a program cannot ask for more than this.
  const uint64_t printed = std::min(limit(kPrintfFifoSize), kMostPrintf);
  return {memory,  findings,     config.options, config.profile, &printf_output,
          printed, should_stop_, nullptr,        &sample};
}

uint64_t Session::limit(uint32_t which) const {
  const auto set = limits.find(which);
  return set == limits.end() ? kDefaultLimits[which] : set->second;
}

void Session::answer(const Progress& progress, Reply& reply) {
  switch (progress.state) {
    case Progress::State::kDone:
      return;
    case Progress::State::kCallback:
      reply.flags |= wire::kHostCallback;
      reply.payload.clear();
      reply.put(progress.callback);
      return;
    case Progress::State::kFailed:
      fail(progress.error);
      reply.error = sticky_error;
  }
}

bool Session::make_room(Reply& reply) {
  const Progress progress = scheduler.make_room();
  answer(progress, reply);
  return progress.ok();
}

void Session::refuse(Reply& reply, int error, const std::string& sentence) {
  reply.error = error;
  reply.payload.clear();
  refused |= error == cuda::kNotSupported;
  if (!sentence.empty() && report.add_message(sentence)) reply.put_text(sentence);
}

void Session::tell(const std::string& sentence) {
  if (report.add_message(sentence) && !config.quiet)
    std::fprintf(stderr, "virtual GPU: %s\n", sentence.c_str());
}

void Session::add_finding(Finding finding, const wire::CodePlace& made_by) {
  if (finding.message.empty()) return;
  if (made_by.api == wire::Api::kDriver) {
    finding.message = checks::in_driver_words(finding.message);
    finding.advice = checks::in_driver_words(finding.advice);
  }
  finding.host_module = host_code.path(made_by.module);
  finding.host_offset = finding.host_module.empty() ? 0 : made_by.offset;
  finding.first = seen_at(static_cast<uint64_t>(report.next_index()));
  // The same mistake on another line is another finding.
  const std::string what = std::to_string(static_cast<int>(finding.mistake)) + finding.message +
                           finding.host_module + std::to_string(finding.host_offset);
  findings.put(std::hash<std::string>()(what), api_findings_++, std::move(finding));
}

void Session::fail(int error) {
  report.traffic.dropped_launches += scheduler.pending_launches();
  scheduler.drop_all();
  frees_queued.clear();
  if (sticky_error == 0) sticky_error = error;
}

void Session::end_program() {
  if (program_gone) return;
  program_gone = true;
  if (const size_t left = scheduler.pending_launches(); left != 0) {
    report.traffic.dropped_launches += left;
    tell("the program ended with " + std::to_string(left) + (left == 1 ? " launch" : " launches") +
         " that it never waited for; not run. cudaDeviceSynchronize() before the end waits for all work.");
  }
  scheduler.drop_all();
}

void Session::run_idle() {
  if (scheduler.pending_launches() != 0) call.note_wait("watching memory", {});
  tell(
      "the program has queued work and then made no call for seconds, as if it watched memory for a result; "
      "running the work now. A synchronising call would show when it is done.");
  const Progress progress = scheduler.run_all_but_callbacks();
  if (progress.state == Progress::State::kFailed) fail(progress.error);
}

// Composing asks for the lines of host code; once they have been looked up, all together, it finds them.
ReportContext Session::context() {
  ReportContext composed = compose_context();
  return host_code.look_up() ? compose_context() : composed;
}

ReportContext Session::compose_context() {
  std::map<std::string, const Allocation*> by_name;
  for (const auto& allocation : memory.all()) by_name[allocation->name] = allocation.get();
  std::vector<ReportedFinding> reported_findings;
  for (Finding& finding : findings.list()) {
    const auto named = by_name.find(finding.allocation);
    ReportedFinding& reported = reported_findings.emplace_back();
    if (named != by_name.end())
      reported.allocated_at = named->second->heap_site >= 0
                                  ? memory.heap().site(named->second->heap_site).place
                                  : host_code.lines(named->second->allocated_by);
    if (finding.place.empty() && !finding.host_module.empty())
      finding.place = host_code.lines(
          {finding.host_offset, host_code.add_module(finding.host_module), wire::Api::kRuntime});
    finding.message = host_code.fill_in(finding.message);
    reported.finding = std::move(finding);
  }
  std::vector<ReportedLeak> leaks;
  // A program that was stopped by an error had no chance to free anything; most stop at a refusal, too.
  if (sticky_error == 0 && !host_faulted && !refused) {
    for (Finding& note : checks::heap_leaks(memory.heap()))
      reported_findings.emplace_back().finding = std::move(note);
    for (const Allocation* leak : memory.leaks())
      leaks.push_back({leak, host_code.lines(leak->allocated_by)});
  }
  return {report,
          config.profile,
          config.options,
          std::move(reported_findings),
          findings.dropped(),
          std::move(leaks),
          program_gone ? "closed" : "running",
          sticky_error,
          call,
          host_code.lines(call.waited_at)};
}

std::string Session::json() {
  return report_json(context());
}

void Session::finish(bool with_text) {
  if (with_text && !config.quiet) std::fputs(report_text(context()).c_str(), stderr);
  std::string error;
  if (!config.report_path.empty() && !write_file(config.report_path, json(), &error))
    std::fprintf(stderr, "virtual GPU: the report could not be written to %s: %s\n",
                 config.report_path.c_str(), error.c_str());
}

}  // namespace vgpu
