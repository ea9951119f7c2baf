#include "checks/finding.h"

#include <algorithm>

namespace vgpu {

const char* finding_kind_name(FindingKind kind) {
  constexpr const char* kNames[] = {
#define FINDING_KIND(kind, name) name,
#define MISTAKE(mistake, kind)
#include "checks/mistakes.def"
  };
  return kNames[static_cast<size_t>(kind)];
}

std::string mistake_name(Mistake mistake) {
  constexpr const char* kNames[] = {
#define FINDING_KIND(kind, name)
#define MISTAKE(mistake, kind) #mistake,
#include "checks/mistakes.def"
  };
  return kNames[static_cast<size_t>(mistake)] + 1;  // without the k of an enumerator
}

FindingKind kind_of(Mistake mistake) {
  constexpr FindingKind kKinds[] = {
#define FINDING_KIND(kind, name)
#define MISTAKE(mistake, kind) FindingKind::kind,
#include "checks/mistakes.def"
  };
  return kKinds[static_cast<size_t>(mistake)];
}

uint64_t seen_at(uint64_t launch, uint64_t block, uint64_t occurrence) {
  constexpr uint64_t kMostLaunches = (1ull << 15) - 1, kMost = (1ull << 24) - 1;
  return std::min(launch, kMostLaunches) << 48 | std::min(block, kMost) << 24 | std::min(occurrence, kMost);
}

// Which groups survive when there are too many must not depend on which CPU thread came first, so the
// lowest keys stay: a group that was pushed out can never come back, for the largest key kept only falls.
// The counts of the kept groups are therefore exact, and `dropped_` is all the rest.
void FindingStore::put(uint64_t key, uint64_t order, Finding finding) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto group = groups_.find(key);
  if (group == groups_.end()) {
    if (groups_.size() >= kMaxGroups) {
      const auto last = std::prev(groups_.end());
      if (key > last->first) {
        dropped_ += finding.count;
        return;
      }
      dropped_ += last->second.count;
      groups_.erase(last);
    }
    group = groups_.emplace(key, Group{}).first;
  }
  group->second.count += finding.count;
  group->second.first = std::min(group->second.first, finding.first);
  if (order >= group->second.order) return;
  group->second.order = order;
  group->second.finding = std::move(finding);
}

void FindingStore::add(Finding finding) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto same = std::find_if(loose_.begin(), loose_.end(), [&](const Finding& f) {
    return f.mistake == finding.mistake && f.message == finding.message && f.kernel == finding.kernel;
  });
  if (same != loose_.end()) {
    same->count += finding.count;
  } else if (loose_.size() >= kMaxGroups) {
    dropped_ += finding.count;
  } else {
    loose_.push_back(std::move(finding));
  }
}

std::vector<Finding> FindingStore::list() const {
  struct Entry {
    uint64_t order;
    Finding finding;
  };
  std::vector<Entry> entries;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [key, group] : groups_) {
      entries.push_back({group.order, group.finding});
      entries.back().finding.count = group.count;
      entries.back().finding.first = group.first;
    }
    for (const Finding& finding : loose_) entries.push_back({0, finding});
  }
  const auto rank = [](const Entry& e) {
    const SourcePlace where = e.finding.place.empty() ? SourcePlace{} : e.finding.place.front();
    return std::make_tuple(e.finding.first, where.file, where.line, e.order, kind_of(e.finding.mistake),
                           e.finding.message);
  };
  std::stable_sort(entries.begin(), entries.end(),
                   [&](const Entry& a, const Entry& b) { return rank(a) < rank(b); });
  std::vector<Finding> findings;
  findings.reserve(entries.size());
  for (Entry& entry : entries) findings.push_back(std::move(entry.finding));
  return findings;
}

bool FindingStore::empty() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return groups_.empty() && loose_.empty();
}

void FindingStore::clear() {
  const std::lock_guard<std::mutex> lock(mutex_);
  groups_.clear();
  loose_.clear();
  dropped_ = 0;
}

}  // namespace vgpu
