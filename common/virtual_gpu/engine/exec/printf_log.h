// What the blocks of a launch print. Only the first bytes in block order are kept, whichever CPU thread
// finished first, so that the text is the same on every run.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace vgpu {

class PrintfLog {
 public:
  // `cut`: the block printed more than its text holds.
  void add(uint64_t block, std::string text, bool cut, uint64_t limit) {
    const std::lock_guard<std::mutex> lock(mutex_);
    bytes_ += text.size();
    entries_[block] = {std::move(text), cut};
    // What lies behind `limit` bytes now always will: blocks before it can only add to them.
    while (bytes_ - std::prev(entries_.end())->second.text.size() > limit) {
      bytes_ -= std::prev(entries_.end())->second.text.size();
      entries_.erase(std::prev(entries_.end()));
      lost_ = true;
    }
  }

  // Whole lines of at most `limit` bytes together.
  std::string take(uint64_t limit) const {
    std::string out;
    for (const auto& [block, entry] : entries_) {
      const bool fits = out.size() + entry.text.size() <= limit;
      out += fits ? entry.text : whole_lines(entry.text, limit - out.size());
      if (!fits || entry.cut) return out + kFull;
    }
    return lost_ ? out + kFull : out;
  }

 private:
  static constexpr const char* kFull = "[device printf buffer full: later output is lost]\n";

  static std::string whole_lines(const std::string& text, uint64_t most) {
    const size_t end = most == 0 ? std::string::npos : text.rfind('\n', most - 1);
    return end == std::string::npos ? "" : text.substr(0, end + 1);
  }

  struct Entry {
    std::string text;
    bool cut = false;
  };
  std::mutex mutex_;
  std::map<uint64_t, Entry> entries_;
  uint64_t bytes_ = 0;
  bool lost_ = false;
};

}  // namespace vgpu
