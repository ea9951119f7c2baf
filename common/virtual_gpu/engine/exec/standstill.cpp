#include "exec/standstill.h"

#include <functional>
#include <string_view>

namespace vgpu {

namespace {

constexpr uint64_t kIdleRounds = 200;  // before states are compared: most threads do not wait for so long
// A loop that reads the clock as it polls (a wait with pauses that grow) never has the same state again.
// After so many rounds it is taken to wait for ever.
constexpr uint64_t kIdleRoundsByTheClock = 20'000;

class Hash {
 public:
  void add(const void* bytes, size_t n) {
    mix(std::hash<std::string_view>{}(std::string_view(static_cast<const char*>(bytes), n)));
  }
  template <class T>
  void value(T v) {
    mix(std::hash<T>{}(v));
  }
  uint64_t result() const { return result_; }

 private:
  void mix(uint64_t v) { result_ = (result_ ^ v) * 0x9e3779b97f4a7c15u + (result_ >> 29); }
  uint64_t result_ = 0;
};

void add_warp(const Warp& w, Hash& hash) {
  hash.value(w.exited);
  hash.value(w.current);
  hash.value(w.yields);
  for (const Split& s : w.splits) {
    hash.value(static_cast<int>(s.state));
    if (s.state == SplitState::kFree) continue;
    hash.value(s.mask);
    hash.value(s.block);
    hash.value(s.frame);
    hash.value(s.join);
    hash.value(s.waiting);
  }
  for (const Join& j : w.joins) hash.value(j.used ? j.arrived : Mask{0});
  for (const Frame* f : w.frames)
    if (f->lanes != 0) hash.add(f->regs, f->code->reg_bytes);
}

uint64_t state_of(std::span<Block* const> blocks) {
  Hash hash;
  for (const Block* b : blocks)
    for (const Warp& w : b->warps) {
      if (w.live() == 0) continue;
      add_warp(w, hash);
      const size_t words = (b->local_size[w.id] + 3) / 4;
      if (words > 0) hash.add(b->local[w.id], words * 4 * kLanes);
    }
  return hash.result();
}

uint64_t clock_reads_of(std::span<Block* const> blocks) {
  uint64_t reads = 0;
  for (const Block* b : blocks)
    for (const Warp& w : b->warps) reads += w.clock_reads;
  return reads;
}

}  // namespace

bool Standstill::after_round(bool changed, std::span<Block* const> blocks) {
  if (changed) {
    idle_ = 0;
    return false;
  }
  if (++idle_ < kIdleRounds) return false;
  const uint64_t now = state_of(blocks);
  if (idle_ == kIdleRounds) {
    clock_reads_ = clock_reads_of(blocks);
    compared_ = idle_;
    state_ = now;
    return false;
  }
  if (now == state_) return true;
  // The state that is kept is renewed after 1, 2, 4 … rounds: a repetition of any length is found.
  if (idle_ - kIdleRounds >= 2 * (compared_ - kIdleRounds)) {
    compared_ = idle_;
    state_ = now;
  }
  return idle_ >= kIdleRoundsByTheClock && clock_reads_of(blocks) != clock_reads_;
}

}  // namespace vgpu
