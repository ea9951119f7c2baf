#include "special_registers.h"

#include <unordered_set>

namespace vgpu::ptx {
namespace {

// Whole, or with one of the components .x .y .z .w.
const std::unordered_set<std::string_view> kVectors = {
    "%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid",
};

const std::unordered_set<std::string_view> kScalars = {
    "WARP_SZ",
    "%laneid",
    "%warpid",
    "%nwarpid",
    "%smid",
    "%nsmid",
    "%gridid",
    "%is_explicit_cluster",
    "%cluster_ctarank",
    "%cluster_nctarank",
    "%lanemask_eq",
    "%lanemask_le",
    "%lanemask_lt",
    "%lanemask_ge",
    "%lanemask_gt",
    "%clock",
    "%clock_hi",
    "%clock64",
    "%globaltimer",
    "%globaltimer_lo",
    "%globaltimer_hi",
    "%total_smem_size",
    "%aggr_smem_size",
    "%dynamic_smem_size",
    "%reserved_smem_offset_begin",
    "%reserved_smem_offset_end",
    "%reserved_smem_offset_cap",
    "%reserved_smem_offset_0",
    "%reserved_smem_offset_1",
    "%current_graph_exec",
};

struct Numbered {
  std::string_view prefix, suffix;
  int count;
};
constexpr Numbered kNumbered[] = {{"%envreg", "", 32}, {"%pm", "", 8}, {"%pm", "_64", 8}};

bool matches(const Numbered& family, std::string_view name) {
  if (!name.starts_with(family.prefix) || !name.ends_with(family.suffix)) return false;
  if (name.size() <= family.prefix.size() + family.suffix.size()) return false;
  const std::string_view digits =
      name.substr(family.prefix.size(), name.size() - family.prefix.size() - family.suffix.size());
  if (digits.size() > 2 || (digits.size() == 2 && digits[0] == '0')) return false;
  int number = 0;
  for (char c : digits) {
    if (c < '0' || c > '9') return false;
    number = number * 10 + (c - '0');
  }
  return number < family.count;
}

}  // namespace

bool is_special_register(std::string_view name) {
  if (kScalars.contains(name) || kVectors.contains(name)) return true;
  const size_t dot = name.find('.');
  if (dot != std::string_view::npos) {
    const std::string_view component = name.substr(dot + 1);
    const bool is_component =
        component.size() == 1 && std::string_view("xyzw").find(component[0]) != std::string_view::npos;
    return is_component && kVectors.contains(name.substr(0, dot));
  }
  for (const Numbered& family : kNumbered) {
    if (matches(family, name)) return true;
  }
  return false;
}

}  // namespace vgpu::ptx
