// Findings and leaks as a person reads them at a terminal.
#include <algorithm>
#include <cstdio>

#include "checks/words.h"
#include "report.h"

namespace vgpu {
namespace {

std::string place_text(const std::vector<SourcePlace>& places) {
  std::string text;
  for (const SourcePlace& place : places) {
    text += text.empty() ? "" : ", inlined at ";
    text += place.file + ":" + std::to_string(place.line);
    if (!place.function.empty()) text += " in " + place.function;
  }
  return text;
}

// Who did it: "kernel scale(float*), block (0,0,0), thread (32,0,0); 31 times".
std::string actor_text(const Finding& finding) {
  std::string text;
  if (!finding.kernel.empty()) text = "kernel " + finding.kernel;
  if (finding.has_thread)
    text += ", block " + dim_text(finding.block) + ", thread " + dim_text(finding.thread);
  if (finding.count > 1) text += (text.empty() ? "" : "; ") + count_of(finding.count, "time");
  return text;
}

void add_line(std::string& out, const char* label, const std::string& text) {
  if (!text.empty()) out += std::string("    ") + label + text + "\n";
}

std::string finding_text(const ReportedFinding& reported) {
  const Finding& finding = reported.finding;
  std::string text =
      std::string("  ") + finding_kind_name(kind_of(finding.mistake)) + ": " + finding.message + "\n";
  add_line(text, "at ", place_text(finding.place));
  if (finding.place.empty() && !finding.host_module.empty()) {
    char offset[32];
    std::snprintf(offset, sizeof offset, "+0x%llx", static_cast<unsigned long long>(finding.host_offset));
    add_line(text, "at ", finding.host_module + offset);
  }
  add_line(text, "and ", place_text(finding.other));
  add_line(text, "in ", actor_text(finding));
  if (!reported.allocated_at.empty())
    add_line(text, "", finding.allocation + " was allocated at " + place_text(reported.allocated_at) + ".");
  add_line(text, "", finding.advice);
  return text;
}

}  // namespace

std::string report_text(const ReportContext& context) {
  std::string text;
  const auto is_note = [](const ReportedFinding& reported) {
    return kind_of(reported.finding.mistake) == FindingKind::kNote;
  };
  const auto notes = std::count_if(context.findings.begin(), context.findings.end(), is_note);
  if (const uint64_t count = context.findings.size() - static_cast<uint64_t>(notes); count != 0)
    text += "virtual GPU: " + count_of(count, "finding") + "\n";
  for (const ReportedFinding& finding : context.findings) text += finding_text(finding);
  if (context.findings_dropped != 0)
    text += "  and " + count_of(context.findings_dropped, "further occurrence") + " in groups not shown\n";
  if (!context.leaks.empty())
    text += "virtual GPU: " + count_of(context.leaks.size(), "allocation") + " never freed\n";
  for (const ReportedLeak& leak : context.leaks) {
    text += "  " + leak.allocation->name + ", " + count_of(leak.allocation->bytes, "byte");
    if (!leak.allocated_at.empty()) text += ", allocated at " + place_text(leak.allocated_at);
    text += "\n";
  }
  return text;
}

}  // namespace vgpu
