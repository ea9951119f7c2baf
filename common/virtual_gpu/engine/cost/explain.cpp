#include "cost/explain.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace vgpu {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value);
  return text;
}

std::string microseconds(double seconds) {
  return number(seconds * 1e6) + " us";
}

std::string bytes(double n) {
  if (n >= 1e9) return number(n / 1e9) + " GB";
  if (n >= 1e6) return number(n / 1e6) + " MB";
  return number(n / 1e3) + " kB";
}

// What the bounds that are no traffic are made of.
const std::map<std::string, const char*>& busy_parts() {
  static const std::map<std::string, const char*> parts = {
      {"issue", "the schedulers issue instructions"},
      {"fp32", "the floating-point pipes are busy"},
      {"integer", "the integer pipes are busy"},
      {"special", "the special-function units are busy"},
      {"double", "the double-precision pipes are busy"},
      {"tensor", "the tensor cores are busy"},
      {"shared", "shared memory is busy with passes over its banks"},
      {"lsu", "the load/store units look up lines"},
      {"copies", "the copy engines move tiles"},
      {"code", "the multiprocessors fetch the kernel's code"},
  };
  return parts;
}

constexpr double kPartOfLatency = 0.5;  // that trips to memory must be to be named

double term(const Estimate& e, const std::string& name) {
  for (const auto& [found, seconds] : e.terms)
    if (name == found) return seconds;
  return 0;
}

std::string latency_sentence(const Estimate& e) {
  const std::string waves = e.straggler ? ", in block " + std::to_string(*e.straggler) + ", which does most"
                            : e.waves > 1.05 ? ", in " + number(e.waves) + " waves of blocks"
                                             : "";
  const std::string kind = e.traffic.stored_by_others > 0.5 ? "L2" : "DRAM";
  // Copies that nobody waits for at once: then their trips are the smaller part.
  const double trips = e.round_trips * e.round_trip_seconds;
  if (e.traffic.bulk_loads > 0 && trips < kPartOfLatency * term(e, "latency"))
    return "products, arithmetic and waits that follow each other in one warp bound it" + waves;
  if (e.round_trips == 0) return "the chain of dependent instructions in one warp bounds it" + waves;
  if (e.round_trips == 1)
    return "one " + kind + " round trip of " + microseconds(e.round_trip_seconds) + " bounds it" + waves;
  return std::to_string(e.round_trips) + " dependent " + kind + " round trips of " +
         microseconds(e.round_trip_seconds) + " each bound it" + waves;
}

}  // namespace

std::string longest_term(const Estimate& estimate) {
  if (estimate.terms.empty()) return "";
  return std::max_element(estimate.terms.begin(), estimate.terms.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

std::string explain(const Estimate& e, const LaunchReport& report, const Profile& profile) {
  const std::string limiter = longest_term(e);
  if (limiter.empty()) return "";
  if (limiter == "latency") return latency_sentence(e);
  if (limiter == "dram")
    return bytes(e.traffic.dram_bytes()) + " of DRAM traffic at " +
           number(e.traffic.dram_bytes_per_second(profile) / 1e12) + " TB/s bound it";
  if (limiter == "l2")
    return bytes((e.traffic.load_sectors + e.traffic.store_sectors) * 32) + " between the SMs and L2, in " +
           number((e.traffic.load_lines + e.traffic.store_lines) / 1e3) + " thousand requests, bound it";
  if (limiter == "dispatch")
    return "handing out " + std::to_string(report.grid.count()) + " blocks bounds it";
  if (limiter == "atomics")
    return std::to_string(report.total.global_atomic_sectors) + " atomic passes over " +
           number(e.traffic.atomic_slices) + " slices of L2 bound it";
  return std::string(busy_parts().at(limiter)) + " for " + microseconds(term(e, limiter));
}

}  // namespace vgpu
