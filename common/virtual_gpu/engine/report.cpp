#include "report.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

namespace vgpu {

void Report::add_launch(LaunchReport figures, const ModelledLaunch& modelled, bool graph) {
  KernelTotals& kernel = kernels_[figures.mangled];
  kernel.kernel = figures.kernel;
  kernel.launches += 1;
  kernel.failed += figures.error != 0;
  kernel.modelled_seconds += modelled.seconds;
  kernel.wall_seconds += figures.wall_seconds;
  kernel.counters.add(figures.total);
  for (const LineCounters& line : figures.lines) kernel.lines[{line.file, line.line}].add(line.counters);

  const int index = next_index_++;
  if (launches_.size() >= kLaunchesKept) return;
  if (launches_.size() >= kLaunchesWithLines) {
    figures.lines.clear();
    figures.lines.shrink_to_fit();
  }
  launches_.push_back({index, graph, std::move(figures), modelled});
}

bool Report::add_message(const std::string& sentence) {
  if (messages_.size() >= kMessagesKept || !said_.insert(sentence).second) return false;
  messages_.push_back(sentence);
  return true;
}

void Report::clear() {
  *this = Report();
}

bool write_file(const std::string& path, const std::string& text, std::string* error) {
  const std::string partial = path + ".partial-" + std::to_string(getpid());
  const int fd = open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  bool ok = fd >= 0;
  for (size_t done = 0; ok && done < text.size();) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    ok = n > 0;
    done += ok ? static_cast<size_t>(n) : 0;
  }
  if (!ok) *error = std::strerror(errno);
  if (fd >= 0 && close(fd) != 0 && ok) {
    *error = std::strerror(errno);
    ok = false;
  }
  if (ok && rename(partial.c_str(), path.c_str()) != 0) {
    *error = std::strerror(errno);
    ok = false;
  }
  if (!ok && fd >= 0) unlink(partial.c_str());
  return ok;
}

const char* occupancy_limiter(const LaunchReport& launch, const Profile& profile) {
  const auto round_up = [](int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; };
  const int64_t warps = std::max<int64_t>(1, static_cast<int64_t>((launch.block.count() + 31) / 32));
  const int64_t registers =
      round_up(int64_t{launch.registers} * kLanes, profile.register_granularity) * warps;
  const int64_t shared =
      round_up(int64_t{launch.static_shared} + launch.dynamic_shared, profile.shared_granularity) +
      profile.reserved_shared_per_block;
  struct Resource {
    const char* name;
    int64_t blocks;
  };
  const Resource resources[] = {
      {"threads", profile.max_warps_per_sm / warps},
      {"registers", registers == 0 ? INT_MAX : profile.registers_per_sm / registers},
      {"shared", profile.shared_per_sm / shared},
      {"blocks", profile.max_blocks_per_sm},
  };
  return std::min_element(std::begin(resources), std::end(resources),
                          [](const Resource& a, const Resource& b) { return a.blocks < b.blocks; })
      ->name;
}

}  // namespace vgpu
