#include "device/profile.h"

#include <stdexcept>
#include <variant>

#include "json.h"

namespace vgpu {
namespace {

struct Field {
  const char* name;
  std::variant<int Profile::*, double Profile::*> member;
};

// Every number of a profile, under the name it has in the file. All are required: a forgotten one would
// quietly be another card's.
const Field kFields[] = {
    {"cc_major", &Profile::cc_major},
    {"cc_minor", &Profile::cc_minor},
    {"sms", &Profile::sms},
    {"max_threads_per_sm", &Profile::max_threads_per_sm},
    {"max_blocks_per_sm", &Profile::max_blocks_per_sm},
    {"max_warps_per_sm", &Profile::max_warps_per_sm},
    {"registers_per_sm", &Profile::registers_per_sm},
    {"registers_per_block", &Profile::registers_per_block},
    {"register_granularity", &Profile::register_granularity},
    {"shared_per_block", &Profile::shared_per_block},
    {"shared_per_block_optin", &Profile::shared_per_block_optin},
    {"shared_per_sm", &Profile::shared_per_sm},
    {"reserved_shared_per_block", &Profile::reserved_shared_per_block},
    {"shared_granularity", &Profile::shared_granularity},
    {"memory_bytes", &Profile::memory_bytes},
    {"l2_bytes", &Profile::l2_bytes},
    {"clock_ghz", &Profile::clock_ghz},
    {"memory_clock_khz", &Profile::memory_clock_khz},
    {"memory_bus_bits", &Profile::memory_bus_bits},
    {"dram_bytes_per_second", &Profile::dram_bytes_per_second},
    {"l2_bytes_per_second", &Profile::l2_bytes_per_second},
    {"host_link_bytes_per_second", &Profile::host_link_bytes_per_second},
    {"fp32_lanes_per_sm", &Profile::fp32_lanes_per_sm},
    {"tensor_cycles_per_mma", &Profile::tensor_cycles_per_mma},
    {"launch_floor_us", &Profile::launch_floor_us},
    {"start_spread_us", &Profile::start_spread_us},
    {"dram_one_way_gain", &Profile::dram_one_way_gain},
    {"launch_gap_us", &Profile::launch_gap_us},
    {"graph_gap_us", &Profile::graph_gap_us},
    {"dispatch_blocks_per_second", &Profile::dispatch_blocks_per_second},
    {"dram_latency_cycles", &Profile::dram_latency_cycles},
    {"dram_access_bytes", &Profile::dram_access_bytes},
    {"l2_latency_cycles", &Profile::l2_latency_cycles},
    {"sm_bytes_per_cycle", &Profile::sm_bytes_per_cycle},
};

const json::Value& member(const json::Value& object, const std::string& name) {
  const json::Value* found = object.get(name);
  if (found == nullptr) throw std::runtime_error("\"" + name + "\" is missing");
  return *found;
}

std::string known_ids(const json::Value& profiles) {
  std::string ids;
  for (const auto& [id, unused] : profiles.object()) ids += (ids.empty() ? "" : ", ") + id;
  return ids;
}

Profile read_profile(const json::Value& entry, const std::string& id) {
  Profile profile;
  profile.id = id;
  profile.name = member(entry, "name").string();
  for (const Field& field : kFields) {
    const double number = member(entry, field.name).number();
    // A compute capability may end in .0; every other figure is a size, a count or a rate.
    const bool may_be_zero = std::string(field.name) == "cc_minor";
    if (number < 0 || number > 1e18 || (number == 0 && !may_be_zero))
      throw std::runtime_error(std::string("\"") + field.name + "\" must be positive");
    if (const auto* whole = std::get_if<int Profile::*>(&field.member)) {
      if (number > 2147483647) throw std::runtime_error(std::string("\"") + field.name + "\" is too large");
      profile.*(*whole) = static_cast<int>(number);
    } else {
      profile.*std::get<double Profile::*>(field.member) = number;
    }
  }
  return profile;
}

}  // namespace

Profile load_profile(const std::string& json_path, const std::string& id) {
  const json::Value document = json::parse_file(json_path);
  try {
    const json::Value& profiles = member(document, "profiles");
    const json::Value* entry = profiles.get(id);
    if (entry == nullptr)
      throw std::runtime_error("no device profile \"" + id + "\"; there are: " + known_ids(profiles));
    return read_profile(*entry, id);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(json_path + ": profile \"" + id + "\": " + error.what());
  }
}

}  // namespace vgpu
