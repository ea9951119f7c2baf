// The report as JSON; common/virtual_gpu/report.py reads it, and refuses names that it does not know.
#include "checks/host_findings.h"
#include "cuda_error.h"
#include "json.h"
#include "report.h"

namespace vgpu {
namespace {

constexpr int kReportVersion = 1;

// A program may name its kernels at any length and launch them thousands of times.
std::string cut_name(const std::string& name) {
  constexpr size_t kLongest = 2048;
  return name.size() <= kLongest ? name : name.substr(0, kLongest) + "[...]";
}

void write_dim(json::Writer& out, const char* name, const Dim3& dim) {
  out.key(name).begin_array().value(dim.x).value(dim.y).value(dim.z).end_array();
}

// Zeros are left out: a reader takes what is absent as 0.
void write_counts(json::Writer& out, const Counters& counters) {
#define COUNTER(name) \
  if (counters.name != 0) out.member(#name, counters.name);
#include "exec/counters.def"
  out.key("by_class").begin_object();
  for (size_t i = 0; i < counters.by_class.size(); ++i)
    if (counters.by_class[i] != 0)
      out.member(instr_class_name(static_cast<InstrClass>(i)), counters.by_class[i]);
  out.end_object();
  if (counters.wgmma_by_shape.empty()) return;
  out.key("wgmma_by_shape").begin_object();
  for (const auto& [shape, count] : counters.wgmma_by_shape) out.member(shape, count);
  out.end_object();
}

struct Ratio {
  const char* name;
  uint64_t Counters::* above;
  uint64_t Counters::* below;
};
constexpr Ratio kRatios[] = {
    {"load_sectors_per_request", &Counters::global_load_sectors, &Counters::global_load_requests},
    {"store_sectors_per_request", &Counters::global_store_sectors, &Counters::global_store_requests},
    {"atomic_sectors_per_request", &Counters::global_atomic_sectors, &Counters::global_atomic_requests},
    {"async_sectors_per_request", &Counters::async_sectors, &Counters::async_requests},
    {"shared_load_wavefronts_per_request", &Counters::shared_load_wavefronts,
     &Counters::shared_load_requests},
    {"shared_store_wavefronts_per_request", &Counters::shared_store_wavefronts,
     &Counters::shared_store_requests},
    {"active_lanes", &Counters::thread_instructions, &Counters::warp_instructions},
};

void write_counters(json::Writer& out, const Counters& counters) {
  out.key("counters").begin_object();
  write_counts(out, counters);
  out.key("derived").begin_object();
  for (const Ratio& ratio : kRatios) {
    const uint64_t below = counters.*ratio.below;
    if (below != 0)
      out.member(ratio.name, static_cast<double>(counters.*ratio.above) / static_cast<double>(below));
  }
  out.end_object().end_object();
}

void write_line(json::Writer& out, const std::string& file, int line, const Counters& counters) {
  out.begin_object().member("file", file).member("line", line).key("counters").begin_object();
  write_counts(out, counters);
  out.end_object().end_object();
}

void write_occupancy(json::Writer& out, const LaunchReport& launch, const Profile& profile) {
  const int64_t warps =
      int64_t{launch.occupancy_blocks} * static_cast<int64_t>((launch.block.count() + 31) / 32);
  out.key("occupancy").begin_object();
  out.member("blocks_per_sm", launch.occupancy_blocks).member("warps_per_sm", warps);
  out.member("fraction", static_cast<double>(warps) / profile.max_warps_per_sm);
  out.member("limiter", occupancy_limiter(launch, profile)).end_object();
}

// A span is [warp, kind, line, wanted, issued, done]: there are thousands.
void write_timeline(json::Writer& out, const Timeline& timeline) {
  out.key("timeline").begin_object();
  out.member("resident", timeline.resident).member("cut", timeline.cut);
  out.member("cycles_per_second", timeline.cycles_per_second).key("spans").begin_array();
  for (const TimelineSpan& span : timeline.spans) {
    out.begin_array().value(span.warp).value(span.kind).value(span.line);
    out.value(span.wanted).value(span.issued).value(span.done).end_array();
  }
  out.end_array().end_object();
}

void write_cost(json::Writer& out, const ModelledLaunch& modelled) {
  const auto write_body = [&](const ModelledBody& body) {
    out.member("body_seconds", body.seconds).member("limiter", body.limiter);
    out.member("sentence", body.sentence).member("round_trips", body.round_trips);
    out.key("terms").begin_object();
    for (const auto& [name, seconds] : body.terms) out.member(name, seconds);
    out.end_object();
  };
  out.member("modelled_seconds", modelled.seconds).key("cost").begin_object();
  out.member("floor_seconds", modelled.floor_seconds).member("gap_seconds", modelled.gap_seconds);
  write_body(modelled.body);
  if (modelled.in_graph) {
    out.key("in_graph").begin_object();
    write_body(*modelled.in_graph);
    out.end_object();
  }
  out.end_object();
}

void write_launch(json::Writer& out, const Report::Launch& launch, const Profile& profile) {
  const LaunchReport& figures = launch.figures;
  out.begin_object().member("index", launch.index);
  out.member("kernel", cut_name(figures.kernel)).member("mangled", cut_name(figures.mangled));
  write_dim(out, "grid", figures.grid);
  write_dim(out, "block", figures.block);
  out.member("dynamic_shared", figures.dynamic_shared).member("static_shared", figures.static_shared);
  out.member("stream", figures.stream).member("graph", launch.graph);
  if (figures.cluster.count() > 1) write_dim(out, "cluster", figures.cluster);
  if (figures.sampled)
    out.member("blocks_begun", figures.blocks_begun).member("blocks_finished", figures.blocks_finished);
  out.member("error", figures.error).member("error_name", cuda::error_name(figures.error));
  out.member("registers", figures.registers).member("registers_estimated", figures.registers_estimated);
  write_occupancy(out, figures, profile);
  write_counters(out, figures.total);
  out.member("waits_at", cut_name(figures.waits_at));
  out.member("not_modelled", cut_name(figures.not_modelled));
  out.member("not_modelled_at", cut_name(figures.not_modelled_at));
  out.member("unlike_replayed", figures.unlike_replayed);
  out.member("distinct_load_sectors", figures.distinct_load_sectors);
  out.member("distinct_plain_load_sectors", figures.distinct_plain_load_sectors);
  out.member("distinct_store_sectors", figures.distinct_store_sectors);
  out.key("lines").begin_array();
  for (const LineCounters& line : figures.lines) write_line(out, line.file, line.line, line.counters);
  out.end_array();
  write_cost(out, launch.modelled);
  if (launch.modelled.timeline.warps > 0) write_timeline(out, launch.modelled.timeline);
  out.member("wall_seconds", figures.wall_seconds).end_object();
}

void write_kernel(json::Writer& out, const std::string& mangled, const Report::KernelTotals& kernel) {
  out.begin_object().member("kernel", cut_name(kernel.kernel)).member("mangled", cut_name(mangled));
  out.member("launches", kernel.launches).member("failed", kernel.failed);
  out.member("modelled_seconds", kernel.modelled_seconds).member("wall_seconds", kernel.wall_seconds);
  write_counters(out, kernel.counters);
  out.key("lines").begin_array();
  for (const auto& [place, counters] : kernel.lines) write_line(out, place.first, place.second, counters);
  out.end_array().end_object();
}

void write_places(json::Writer& out, const char* name, const std::vector<SourcePlace>& places) {
  out.key(name).begin_array();
  for (const SourcePlace& place : places) {
    out.begin_object().member("file", place.file).member("line", place.line);
    out.member("function", place.function).end_object();
  }
  out.end_array();
}

void write_finding(json::Writer& out, const ReportedFinding& reported) {
  const Finding& finding = reported.finding;
  const SourcePlace where = finding.place.empty() ? SourcePlace{} : finding.place.front();
  out.begin_object().member("kind", finding_kind_name(kind_of(finding.mistake)));
  out.member("mistake", mistake_name(finding.mistake)).member("first", finding.first);
  out.member("message", finding.message).member("advice", finding.advice);
  out.member("file", where.file).member("line", where.line);
  write_places(out, "place", finding.place);
  write_places(out, "other", finding.other);
  out.member("between", finding.between).member("kernel", finding.kernel);
  if (finding.has_thread) {
    write_dim(out, "block", finding.block);
    write_dim(out, "thread", finding.thread);
  }
  out.member("allocation", finding.allocation).member("address", finding.address);
  write_places(out, "allocated_at", reported.allocated_at);
  out.member("count", finding.count).member("launch", finding.launch);
  if (!finding.host_module.empty())
    out.member("host_module", finding.host_module).member("host_offset", finding.host_offset);
  out.end_object();
}

void write_leak(json::Writer& out, const ReportedLeak& reported) {
  const Allocation& leak = *reported.allocation;
  const SourcePlace where = reported.allocated_at.empty() ? SourcePlace{} : reported.allocated_at.front();
  out.begin_object().member("kind", finding_kind_name(FindingKind::kLeak)).member("allocation", leak.name);
  out.member("address", leak.base).member("bytes", leak.bytes);
  out.member("message", checks::leak_text(leak));
  out.member("file", where.file).member("line", where.line);
  write_places(out, "place", reported.allocated_at);
  out.end_object();
}

void write_call(json::Writer& out, const ReportContext& context) {
  const BoundedCall& call = context.call;
  out.key("call").begin_object();
  out.member("began", call.began).member("ended", call.ended);
  out.member("copies_outside", call.copies_outside).member("late_requests", call.late_requests);
  out.member("captured", call.captured).member("destroyed", call.destroyed);
  out.member("waited", call.waited);
  write_places(out, "waited_at", context.waited_at);
  out.end_object();
}

void write_options(json::Writer& out, const Options& options) {
  out.key("options").begin_object();
  out.member("memory", options.check_memory)
      .member("race", options.check_race)
      .member("init", options.check_init);
  out.member("sync", options.check_sync).member("async", options.check_async);
  out.member("global_race", options.check_global_race).member("counters", options.counters);
  out.member("cost", options.cost);
  out.member("threads", options.threads).member("max_warp_instructions", options.max_warp_instructions);
  out.member("max_seconds", options.max_seconds).end_object();
}

void write_totals(json::Writer& out, const Report& report) {
  double modelled = 0, wall = 0;
  for (const auto& [mangled, kernel] : report.kernels()) {
    modelled += kernel.modelled_seconds;
    wall += kernel.wall_seconds;
  }
  const Report::Traffic& traffic = report.traffic;
  out.key("totals").begin_object();
  out.member("launches", report.next_index()).member("launches_listed", report.launches().size());
  out.member("launches_with_lines", std::min(report.launches().size(), Report::kLaunchesWithLines));
  out.member("launches_dropped", traffic.dropped_launches);
  out.member("copies", traffic.copies).member("copied_bytes", traffic.copied_bytes);
  out.member("fills", traffic.fills).member("filled_bytes", traffic.filled_bytes);
  out.member("to_host_bytes", traffic.to_host_bytes).member("printed_bytes", traffic.printed_bytes);
  out.member("modelled_seconds", modelled).member("wall_seconds", wall).end_object();
}

}  // namespace

std::string report_json(const ReportContext& context) {
  const Report& report = context.report;
  json::Writer out;
  out.begin_object().member("version", kReportVersion);
  out.member("profile", context.profile.id).member("device", context.profile.name);
  write_options(out, context.options);
  out.key("launches").begin_array();
  for (const Report::Launch& launch : report.launches()) write_launch(out, launch, context.profile);
  out.end_array().key("kernels").begin_array();
  for (const auto& [mangled, kernel] : report.kernels()) write_kernel(out, mangled, kernel);
  out.end_array().key("findings").begin_array();
  const auto write_all = [&](bool notes) {
    for (const ReportedFinding& reported : context.findings)
      if ((kind_of(reported.finding.mistake) == FindingKind::kNote) == notes) write_finding(out, reported);
  };
  write_all(false);
  out.end_array().key("notes").begin_array();
  write_all(true);
  out.end_array().member("findings_dropped", context.findings_dropped);
  out.key("leaks").begin_array();
  for (const ReportedLeak& leak : context.leaks) write_leak(out, leak);
  out.end_array();
  write_totals(out, report);
  out.key("messages").begin_array();
  for (const std::string& sentence : report.messages()) out.value(sentence);
  out.end_array();
  if (context.call.stream != 0) write_call(out, context);
  out.member("sticky_error", context.sticky_error);
  out.member("program_exit", context.program_exit).end_object();
  return out.take() + "\n";
}

}  // namespace vgpu
