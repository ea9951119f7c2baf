// Loads and stores of every space and width. Checks and counting come first; then the bytes move, in one
// sweep when the lanes' addresses are neighbours.
#include <algorithm>
#include <cstring>

#include "checks/access_findings.h"
#include "checks/report.h"
#include "checks/shared_check.h"
#include "exec/access.h"
#include "exec/flags.h"
#include "exec/memory_ops.h"
#include "exec/shortcuts.h"

namespace vgpu {

using ptx::Space;

namespace {

template <class T>
void broadcast(Warp& w, uint32_t to, T value, Mask lanes_on) {
  T* d = lanes<T>(w, to);
  if (lanes_on == kAllLanes) {
    for (int i = 0; i < kLanes; ++i) d[i] = value;
  } else {
    for (int i = 0; i < kLanes; ++i) d[i] = (lanes_on >> i) & 1 ? value : d[i];
  }
}

// How values travel between registers and bytes in memory. The usual widths are spelled out so that a
// full, contiguous access compiles to vector moves; everything else goes by the op's own figures.
template <class T, int V>  // registers as wide as the elements
struct Exact {
  static constexpr uint32_t bytes(const Op&) { return sizeof(T) * V; }
  static uint32_t reg(const Op& op, int v, uint32_t single) { return V == 1 ? single : op.list[v]; }

  template <class At>
  static void fill(Warp& w, const Op& op, Mask good, Mask wanted, const Shape& shape, At at) {
    if (shape.uniform && good == wanted) {
      const uint8_t* p = at(shape.first);
      for (int v = 0; v < V; ++v) {
        T value;
        std::memcpy(&value, p + static_cast<size_t>(v) * sizeof(T), sizeof(T));
        broadcast(w, reg(op, v, op.dst), value, wanted);
      }
      return;
    }
    if (shape.contiguous && good == kAllLanes) {
      const uint8_t* p = at(0);
      for (int v = 0; v < V; ++v) {
        T* d = lanes<T>(w, reg(op, v, op.dst));
        for (int i = 0; i < kLanes; ++i)
          std::memcpy(&d[i], p + static_cast<size_t>(i * V + v) * sizeof(T), sizeof(T));
      }
      return;
    }
    for (Mask m = wanted; m != 0; m &= m - 1) {
      const int lane = first_lane(m);
      for (int v = 0; v < V; ++v) {
        T value{};  // a suppressed load gives zero
        if (good >> lane & 1) std::memcpy(&value, at(lane) + static_cast<size_t>(v) * sizeof(T), sizeof(T));
        lanes<T>(w, reg(op, v, op.dst))[lane] = value;
      }
    }
  }

  template <class At>
  static void empty(Warp& w, const Op& op, Mask good, bool contiguous, At at) {
    if (contiguous && good == kAllLanes) {
      uint8_t* p = at(0);
      for (int v = 0; v < V; ++v) {
        const T* s = lanes_in<T>(w, reg(op, v, op.src[1]));
        for (int i = 0; i < kLanes; ++i)
          std::memcpy(p + static_cast<size_t>(i * V + v) * sizeof(T), &s[i], sizeof(T));
      }
      return;
    }
    for (Mask m = good; m != 0; m &= m - 1) {
      const int lane = first_lane(m);
      for (int v = 0; v < V; ++v)
        std::memcpy(at(lane) + static_cast<size_t>(v) * sizeof(T),
                    &lanes_in<T>(w, reg(op, v, op.src[1]))[lane], sizeof(T));
    }
  }
};

struct AnyWidth {
  static uint32_t bytes(const Op& op) { return static_cast<uint32_t>(op.access.bytes) * op.access.vec; }
  static uint32_t reg(const Op& op, int v, uint32_t single) {
    return op.access.vec == 1 ? single : op.list[v];
  }

  template <class At>
  static void fill(Warp& w, const Op& op, Mask good, Mask wanted, const Shape& shape, At at) {
    const int shift = 64 - 8 * op.access.bytes;
    if (shape.uniform && good == wanted) {
      for (int v = 0; v < op.access.vec; ++v) {
        uint64_t value = 0;
        std::memcpy(&value, at(shape.first) + v * op.access.bytes, op.access.bytes);
        if (op.flags & kSigned) value = static_cast<uint64_t>(static_cast<int64_t>(value << shift) >> shift);
        const uint32_t to = reg(op, v, op.dst);
        if (op.access.reg_bytes == 2)
          broadcast(w, to, static_cast<uint16_t>(value), wanted);
        else if (op.access.reg_bytes == 4)
          broadcast(w, to, static_cast<uint32_t>(value), wanted);
        else
          broadcast(w, to, value, wanted);
      }
      return;
    }
    for (Mask m = wanted; m != 0; m &= m - 1) {
      const int lane = first_lane(m);
      for (int v = 0; v < op.access.vec; ++v) {
        uint64_t value = 0;
        if (good >> lane & 1) std::memcpy(&value, at(lane) + v * op.access.bytes, op.access.bytes);
        if (op.flags & kSigned) value = static_cast<uint64_t>(static_cast<int64_t>(value << shift) >> shift);
        std::memcpy(w.regs + reg(op, v, op.dst) + lane * op.access.reg_bytes, &value, op.access.reg_bytes);
      }
    }
  }

  template <class At>
  static void empty(Warp& w, const Op& op, Mask good, bool, At at) {
    for (Mask m = good; m != 0; m &= m - 1) {
      const int lane = first_lane(m);
      for (int v = 0; v < op.access.vec; ++v)
        std::memcpy(at(lane) + v * op.access.bytes,
                    w.regs + reg(op, v, op.src[1]) + lane * op.access.reg_bytes, op.access.bytes);
    }
  }
};

// Whether what a volatile load sees decides something: then it learns what the store's warp did before. A
// load of data cannot know whether it came before the store or after it.
bool is_flag(const Warp& w, const Op& op) {
  return w.block->launch->kernel.flag_use[op.index] & (kWaits | kDecides | kOrders);
}
bool acquires(const Warp& w, const Op& op) {
  return w.block->launch->kernel.flag_use[op.index] & kOrders;
}

bool same_values(const Warp& w, const Op& op, int one, int other) {
  for (int v = 0; v < op.access.vec; ++v) {
    const uint8_t* reg = w.regs + AnyWidth::reg(op, v, op.src[1]);
    if (std::memcmp(reg + one * op.access.reg_bytes, reg + other * op.access.reg_bytes, op.access.bytes) != 0)
      return false;
  }
  return true;
}

// Of lanes that store in one place of global memory, the lowest one's value stays, as an H200 was seen to do.
// Different values are a finding.
Mask lanes_that_stay(Warp& w, const Op& op, const uint64_t* address, Mask mask) {
  constexpr uint32_t kSlots = 128;
  uint8_t first[kSlots];
  std::memset(first, 0xff, sizeof first);
  const int shift = std::countr_zero(static_cast<unsigned>(op.access.bytes) * op.access.vec);
  Mask stay = 0;
  for (Mask m = mask; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    uint32_t slot = static_cast<uint32_t>(address[lane] >> shift) % kSlots;
    while (first[slot] != 0xff && address[first[slot]] != address[lane]) slot = (slot + 1) % kSlots;
    if (first[slot] == 0xff) {
      first[slot] = static_cast<uint8_t>(lane);
      stay |= 1u << lane;
    } else if (w.block->options->check_race && !same_values(w, op, first[slot], lane)) {
      checks::lanes_collide(w, op, lane, address[lane], Space::kGlobal);
    }
  }
  return stay;
}

// ---- one space each; `address` is in the terms of that space. Out of line: generic accesses use them too.

template <class F>
[[gnu::noinline]] void load_global(Warp& w, const Op& op, const uint64_t* address, Mask mask) {
  const uint32_t bytes = F::bytes(op);
  const Shape shape = shape_of(address, mask, bytes);
  const Mask good = check_global(w, op, address, bytes, mask, shape, Direction::kLoad);
  if (op.cls != InstrClass::kLoadConst) count_global(w, op, address, bytes, good, shape, Direction::kLoad);
  F::fill(w, op, good, mask, shape, [&](int lane) { return DeviceMemory::host(address[lane]); });
  if (!w.block->undefined.loaded.empty()) take_loaded(w, op);
  if (op.flags & kPolls) {
    ++w.polls;
    if (w.block->options->check_race && is_flag(w, op))
      for (Mask m = good; m != 0; m &= m - 1)
        order_through(w, address[first_lane(m)], true, false, acquires(w, op));
  }
}

template <class F>
[[gnu::noinline]] void store_global(Warp& w, const Op& op, const uint64_t* address, Mask mask) {
  const uint32_t bytes = F::bytes(op);
  const Shape shape = shape_of(address, mask, bytes);
  const Mask good = check_global(w, op, address, bytes, mask, shape, Direction::kStore);
  count_global(w, op, address, bytes, good, shape, Direction::kStore);
  if (w.block->options->check_init) mark_global_written(w, op, address, bytes, good, shape);
  ++w.block->changes;
  w.global_stores += good != 0;
  const Mask stay = shape.contiguous ? good : lanes_that_stay(w, op, address, good);
  F::empty(w, op, stay, shape.contiguous, [&](int lane) { return DeviceMemory::host(address[lane]); });
  if ((op.flags & kReleases) && w.block->options->check_race)
    for (Mask m = good; m != 0; m &= m - 1) order_through(w, address[first_lane(m)], false, true, false);
}

template <class F>
[[gnu::noinline]] void load_shared(Warp& w, const Op& op, const uint32_t* address, Mask mask) {
  const uint32_t bytes = F::bytes(op);
  Block& b = *w.block;
  uint32_t own[kLanes];
  if (b.cluster != nullptr) {
    const auto serve = [&](const uint32_t* at, Mask lanes) { load_shared<F>(w, op, at, lanes); };
    mask = serve_other_blocks(w, op, address, mask, bytes, false, own, serve);
    if (mask == 0) return;
    address = own;
  }
  const bool polls = op.flags & kPolls;
  const Shape shape = shape_of(address, mask, bytes);
  const Mask good = check_shared_bounds(w, op, address, bytes, mask, shape, Direction::kLoad);
  count_shared(w, op, address, bytes, good, shape, Direction::kLoad);
  if (b.watch_shared) check_shared(w, op, address, bytes, good, shape, SharedUse::kRead, polls);
  if (polls) {
    ++w.polls;
    if (b.options->check_race && is_flag(w, op))
      for (Mask m = good; m != 0; m &= m - 1)
        order_through(w, kSharedWindow + address[first_lane(m)], true, false, acquires(w, op));
  }
  F::fill(w, op, good, mask, shape, [&](int lane) { return b.shared.data() + address[lane]; });
  if (!b.undefined.shared.empty()) note_moved(w, address, bytes, good);
  if (!b.undefined.loaded.empty()) take_loaded(w, op);
}

template <class F>
[[gnu::noinline]] void store_shared(Warp& w, const Op& op, const uint32_t* address, Mask mask) {
  const uint32_t bytes = F::bytes(op);
  Block& b = *w.block;
  uint32_t own[kLanes];
  if (b.cluster != nullptr) {
    const auto serve = [&](const uint32_t* at, Mask lanes) { store_shared<F>(w, op, at, lanes); };
    mask = serve_other_blocks(w, op, address, mask, bytes, true, own, serve);
    if (mask == 0) return;
    address = own;
  }
  const bool releases = op.flags & kReleases;
  const Shape shape = shape_of(address, mask, bytes);
  const Mask good = check_shared_bounds(w, op, address, bytes, mask, shape, Direction::kStore);
  count_shared(w, op, address, bytes, good, shape, Direction::kStore);
  ++b.changes;
  const bool collide =
      b.watch_shared && check_shared(w, op, address, bytes, good, shape, SharedUse::kWrite, releases);
  auto at = [&](int lane) { return b.shared.data() + address[lane]; };
  F::empty(w, op, good, shape.contiguous, at);
  if (!b.undefined.shared.empty()) forget_shared(b, address, bytes, good);
  if (releases && b.options->check_race)
    for (Mask m = good; m != 0; m &= m - 1)
      order_through(w, kSharedWindow + address[first_lane(m)], false, true, false);
  if (!collide || !b.options->check_race) return;
  // Several lanes wrote one place: harmless as long as they wrote the same.
  for (Mask m = good; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    for (int v = 0; v < op.access.vec; ++v) {
      const uint8_t* mine = w.regs + AnyWidth::reg(op, v, op.src[1]) + lane * op.access.reg_bytes;
      if (std::memcmp(mine, at(lane) + v * op.access.bytes, op.access.bytes) == 0) continue;
      checks::lanes_collide(w, op, lane, address[lane], Space::kShared);
      return;
    }
  }
}

template <class F>
[[gnu::noinline]] void load_local(Warp& w, const Op& op, const uint32_t* address, Mask mask) {
  const uint32_t bytes = F::bytes(op);
  const Mask good = check_local(w, op, address, bytes, mask, Direction::kLoad);
  uint8_t values[kLanes][32];
  for (Mask m = good; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    read_local(w, lane, address[lane], bytes, values[lane]);
  }
  F::fill(w, op, good, mask, Shape{}, [&](int lane) { return values[lane]; });
  if (!w.block->undefined.loaded.empty()) take_loaded(w, op);
}

template <class F>
[[gnu::noinline]] void store_local(Warp& w, const Op& op, const uint32_t* address, Mask mask) {
  const uint32_t bytes = F::bytes(op);
  const Mask good = check_local(w, op, address, bytes, mask, Direction::kStore);
  uint8_t values[kLanes][32];
  F::empty(w, op, good, false, [&](int lane) { return values[lane]; });
  for (Mask m = good; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    write_local(w, lane, address[lane], bytes, values[lane]);
  }
}

// A kernel's parameters: read-only, the same for all lanes.
template <class F>
[[gnu::noinline]] void load_param(Warp& w, const Op& op, const uint64_t* address, Mask mask) {
  const uint32_t bytes = F::bytes(op);
  const std::vector<uint8_t>& params = w.block->launch->request.params;
  const Shape shape = shape_of(address, mask, bytes);
  const auto is_inside = [&](uint64_t at) { return bytes <= params.size() && at <= params.size() - bytes; };
  Mask good = shape.uniform && is_inside(address[shape.first]) ? mask : 0;
  for (Mask m = mask & ~good; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    if (is_inside(address[lane])) {
      good |= 1u << lane;
      continue;
    }
    checks::out_of_parameters(w, op, lane, address[lane]);
  }
  F::fill(w, op, good, mask, shape, [&](int lane) { return params.data() + address[lane]; });
}

// ---- from an op to lane addresses

template <auto kAccess>
void at_addresses(Warp& w, const Op& op) {
  uint64_t address[kLanes];
  lane_addresses(w, op, address);
  kAccess(w, op, address, w.exec);
}
template <auto kAccess>
void at_addresses32(Warp& w, const Op& op) {
  uint32_t address[kLanes];
  lane_addresses32(w, op, address);
  kAccess(w, op, address, w.exec);
}

// A load of all lanes from one place of the block's shared memory, with nothing to report. False: it is not
// one, and nothing is done.
template <class F>
bool load_shared_by_all(Warp& w, const Op& op) {
  Block& b = *w.block;
  if (!kShortcuts || w.exec != kAllLanes || (op.flags & (kPolls | kAddress64)) || b.cluster != nullptr)
    return false;
  const uint32_t* base = lanes_in<uint32_t>(w, op.src[0]);
  if (base[1] != base[0] || base[kLanes - 1] != base[0]) return false;
  uint32_t other = 0;
  for (int i = 0; i < kLanes; ++i) other |= base[i] ^ base[0];
  const uint32_t address = base[0] + static_cast<uint32_t>(op.access.offset), bytes = F::bytes(op);
  if (other != 0 || address % bytes != 0 || !b.undefined.shared.empty()) return false;
  const std::vector<SharedRegion>& regions = b.launch->shared_regions;
  if (std::none_of(regions.begin(), regions.end(), [&](const SharedRegion& r) {
        return address >= r.begin && uint64_t{address} + bytes <= r.end;
      }))
    return false;
  if (b.watch_shared && !quick_read_by_all(w, op, address, bytes)) return false;
  uint32_t addresses[kLanes];
  std::fill_n(addresses, kLanes, address);
  Shape shape;
  shape.dense = shape.uniform = true;
  shape.count = kLanes;
  count_shared(w, op, addresses, bytes, kAllLanes, shape, Direction::kLoad);
  F::fill(w, op, kAllLanes, kAllLanes, shape, [&](int) { return b.shared.data() + address; });
  return true;
}
template <class F>
void op_load_shared(Warp& w, const Op& op) {
  if (!load_shared_by_all<F>(w, op)) at_addresses32<load_shared<F>>(w, op);
}

// Generic addresses: lanes may point into different spaces; each space is served in turn.
struct BySpace {
  Mask global = 0, shared = 0, local = 0, param = 0;
};
// The lanes' addresses, and their lower halves.
[[gnu::noinline]] BySpace sorted_addresses(Warp& w, const Op& op, uint64_t* address, uint32_t* low) {
  lane_addresses(w, op, address);
  for (int i = 0; i < kLanes; ++i) low[i] = static_cast<uint32_t>(address[i]);
  const Mask mask = w.exec;
  BySpace s;
  for (int i = 0; i < kLanes; ++i) {
    const uint32_t bit = mask & 1u << i;
    const uint64_t window = address[i] & ~(kWindowBytes - 1);
    if (window == kSharedWindow)
      s.shared |= bit;
    else if (window == kLocalWindow)
      s.local |= bit;
    else if (window == kParamWindow)
      s.param |= bit;
    else
      s.global |= bit;
  }
  return s;
}

template <class F>
void op_load_generic(Warp& w, const Op& op) {
  uint64_t address[kLanes];
  uint32_t low[kLanes];
  const BySpace s = sorted_addresses(w, op, address, low);
  if (s.global) load_global<F>(w, op, address, s.global);
  if (s.global == w.exec) return;
  if (s.shared) load_shared<F>(w, op, low, s.shared);
  if (s.local) load_local<F>(w, op, low, s.local);
  if (s.param) {
    for (int i = 0; i < kLanes; ++i) address[i] = low[i];
    load_param<F>(w, op, address, s.param);
  }
}
template <class F>
void op_store_generic(Warp& w, const Op& op) {
  uint64_t address[kLanes];
  uint32_t low[kLanes];
  const BySpace s = sorted_addresses(w, op, address, low);
  if (s.global | s.param) store_global<F>(w, op, address, s.global | s.param);
  if (s.global == w.exec) return;
  if (s.shared) store_shared<F>(w, op, low, s.shared);
  if (s.local) store_local<F>(w, op, low, s.local);
}

template <class F>
OpFn pick_load(Space space) {
  switch (space) {
    case Space::kShared:
      return op_load_shared<F>;
    case Space::kLocal:
      return at_addresses32<load_local<F>>;
    case Space::kParam:
      return at_addresses<load_param<F>>;
    case Space::kGeneric:
      return op_load_generic<F>;
    default:
      return at_addresses<load_global<F>>;
  }
}
template <class F>
OpFn pick_store(Space space) {
  switch (space) {
    case Space::kShared:
      return at_addresses32<store_shared<F>>;
    case Space::kLocal:
      return at_addresses32<store_local<F>>;
    case Space::kGeneric:
      return op_store_generic<F>;
    default:
      return at_addresses<store_global<F>>;
  }
}

// Calls f with the form that moves these widths.
template <class Pick>
OpFn with_form(int bytes, int vec, int reg_bytes, Pick pick) {
  if (bytes == 4 && reg_bytes == 4) {
    if (vec == 1) return pick(Exact<uint32_t, 1>{});
    if (vec == 2) return pick(Exact<uint32_t, 2>{});
    if (vec == 4) return pick(Exact<uint32_t, 4>{});
  }
  if (bytes == 8 && reg_bytes == 8) {
    if (vec == 1) return pick(Exact<uint64_t, 1>{});
    if (vec == 2) return pick(Exact<uint64_t, 2>{});
  }
  if (bytes == 2 && reg_bytes == 2 && vec == 1) return pick(Exact<uint16_t, 1>{});
  return pick(AnyWidth{});
}

}  // namespace

OpFn load_fn(Space space, int bytes, int vec, int reg_bytes) {
  return with_form(bytes, vec, reg_bytes, [&](auto form) { return pick_load<decltype(form)>(space); });
}

OpFn store_fn(Space space, int bytes, int vec, int reg_bytes) {
  return with_form(bytes, vec, reg_bytes, [&](auto form) { return pick_store<decltype(form)>(space); });
}

// Parameters of a .func: words of 32 lanes inside the register file.
void param_load(Warp& w, const Op& op) {
  const uint8_t* area = w.regs + op.src[0];
  for (int v = 0; v < op.access.vec; ++v)
    for (Mask m = w.exec; m != 0; m &= m - 1) {
      const int lane = first_lane(m);
      uint64_t value = 0;
      uint8_t* to = reinterpret_cast<uint8_t*>(&value);
      for (uint32_t i = 0; i < op.access.bytes; ++i) {
        const uint64_t at = op.access.offset + static_cast<uint64_t>(v) * op.access.bytes + i;
        to[i] = area[at / 4 * 4 * kLanes + static_cast<uint64_t>(lane) * 4 + at % 4];
      }
      if (op.flags & kSigned) {
        const int shift = 64 - 8 * op.access.bytes;
        value = static_cast<uint64_t>(static_cast<int64_t>(value << shift) >> shift);
      }
      std::memcpy(w.regs + op.list[v] + static_cast<uint32_t>(lane) * op.access.reg_bytes, &value,
                  op.access.reg_bytes);
    }
}

void param_store(Warp& w, const Op& op) {
  uint8_t* area = w.regs + op.dst;
  for (int v = 0; v < op.access.vec; ++v)
    for (Mask m = w.exec; m != 0; m &= m - 1) {
      const int lane = first_lane(m);
      const uint8_t* from = w.regs + op.list[v] + static_cast<uint32_t>(lane) * op.access.reg_bytes;
      for (uint32_t i = 0; i < op.access.bytes; ++i) {
        const uint64_t at = op.access.offset + static_cast<uint64_t>(v) * op.access.bytes + i;
        area[at / 4 * 4 * kLanes + static_cast<uint64_t>(lane) * 4 + at % 4] = from[i];
      }
    }
}

}  // namespace vgpu
