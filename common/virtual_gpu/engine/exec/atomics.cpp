// Atomics in shared and global memory. Lanes act in lane order; blocks whose atomics could show their
// order run one after the other (see CodeTraits), so results are the same on every run.
#include <cstring>
#include <unordered_map>

#include "checks/report.h"
#include "checks/shared_check.h"
#include "exec/access.h"
#include "exec/memory_ops.h"
#include "ops/matrix_convert.h"

namespace vgpu {

using ptx::Space;

namespace {

struct Add {
  template <class T>
  T operator()(T old, T v, T) const {
    return static_cast<T>(old + v);
  }
};
struct And {
  template <class T>
  T operator()(T old, T v, T) const {
    return old & v;
  }
};
struct Or {
  template <class T>
  T operator()(T old, T v, T) const {
    return old | v;
  }
};
struct Xor {
  template <class T>
  T operator()(T old, T v, T) const {
    return old ^ v;
  }
};
struct Min {
  template <class T>
  T operator()(T old, T v, T) const {
    return v < old ? v : old;
  }
};
struct Max {
  template <class T>
  T operator()(T old, T v, T) const {
    return v > old ? v : old;
  }
};
struct Inc {
  template <class T>
  T operator()(T old, T v, T) const {
    return old >= v ? T{0} : static_cast<T>(old + 1);
  }
};
struct Dec {
  template <class T>
  T operator()(T old, T v, T) const {
    return old == 0 || old > v ? v : static_cast<T>(old - 1);
  }
};
struct Exchange {
  template <class T>
  T operator()(T, T v, T) const {
    return v;
  }
};
struct CompareSwap {
  template <class T>
  T operator()(T old, T compare, T v) const {
    return old == compare ? v : old;
  }
};

struct HalfAdd {
  uint16_t operator()(uint16_t old, uint16_t v, uint16_t) const {
    return matrix::float_to_half(matrix::half_to_float(old) + matrix::half_to_float(v));
  }
};
struct BfloatAdd {
  uint16_t operator()(uint16_t old, uint16_t v, uint16_t) const {
    const float sum = std::bit_cast<float>(uint32_t{old} << 16) + std::bit_cast<float>(uint32_t{v} << 16);
    const uint32_t bits = std::bit_cast<uint32_t>(sum);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
    return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);  // to nearest even
  }
};
template <class Each>
struct Pairwise {  // f16x2 and bf16x2: the two halves are added on their own
  uint32_t operator()(uint32_t old, uint32_t v, uint32_t) const {
    const uint32_t low = Each{}(static_cast<uint16_t>(old), static_cast<uint16_t>(v), 0);
    const uint32_t high = Each{}(static_cast<uint16_t>(old >> 16), static_cast<uint16_t>(v >> 16), 0);
    return low | high << 16;
  }
};

// Updates what lies at a place and returns what lay there. The rest of an atomic is compiled once per width.
template <class Bits>
using Update = Bits (*)(Warp& w, uint8_t* at, Bits value, Bits value2);

// `T` is the type of the arithmetic, `Bits` the unsigned integer of the same size.
template <class T, class Bits, class Fn>
Bits update(Warp& w, uint8_t* at, Bits value, Bits value2) {
  Bits* place = reinterpret_cast<Bits*>(at);
  Bits old = __atomic_load_n(place, __ATOMIC_RELAXED);
  Bits next;
  do {
    T t_old, t_value, t_value2;
    std::memcpy(&t_old, &old, sizeof old);
    std::memcpy(&t_value, &value, sizeof value);
    std::memcpy(&t_value2, &value2, sizeof value2);
    const T t_next = Fn{}(t_old, t_value, t_value2);
    std::memcpy(&next, &t_next, sizeof next);
  } while (!__atomic_compare_exchange_n(place, &old, next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  w.block->changes += old != next;
  return old;
}

// What an atomic says about memory order: it always carries what was fenced before it.
void order(Warp& w, const Op& op, uint64_t address, bool check) {
  const bool tells_old = !(op.flags & kResultUnused);
  if (tells_old) {
    ++w.polls;
    w.block->instructions += 4;  // for each lane: a spin on atomics reaches the block's budget in seconds
  }
  if (!check) return;
  // Plain counters (histograms, sums) synchronise nothing unless the kernel fences or swaps.
  if (!w.block->launch->kernel.traits.uses_fences && op.atomic.commutes) return;
  order_through(w, address, tells_old, true, true);
}

// What comes before an atomic in each space, the same for all of a width: the lanes that may go on.
[[gnu::noinline]] Mask ready_global(Warp& w, const Op& op, const uint64_t* address, uint32_t bytes,
                                    Mask mask) {
  const Shape shape = shape_of(address, mask, bytes);
  const Mask good = check_global(w, op, address, bytes, mask, shape, Direction::kAtomic);
  count_global(w, op, address, bytes, good, shape, Direction::kAtomic);
  return good;
}

[[gnu::noinline]] Mask ready_shared(Warp& w, const Op& op, const uint32_t* address, uint32_t bytes,
                                    Mask mask) {
  const Block& b = *w.block;
  const Shape shape = shape_of(address, mask, bytes);
  const Mask good = check_shared_bounds(w, op, address, bytes, mask, shape, Direction::kAtomic);
  count_shared(w, op, address, bytes, good, shape, Direction::kAtomic);
  for (Mask m = good; m != 0; m &= m - 1)
    order(w, op, kSharedWindow + address[first_lane(m)], b.options->check_race);
  if (b.watch_shared) check_shared(w, op, address, bytes, good, shape, SharedUse::kAtomic, true);
  if (!b.undefined.shared.empty()) report_moved(w, op, address, bytes, good);
  return good;
}

template <class Bits>
[[gnu::noinline]] void on_global(Warp& w, const Op& op, Update<Bits> update, const uint64_t* address,
                                 Mask mask) {
  const Mask good = ready_global(w, op, address, sizeof(Bits), mask);
  const Bits* value = lanes_in<Bits>(w, op.src[1]);
  const Bits* value2 = lanes_in<Bits>(w, op.src[2]);
  for (Mask m = good; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    order(w, op, address[lane], w.block->options->check_race);
    const Bits old = update(w, DeviceMemory::host(address[lane]), value[lane], value2[lane]);
    if (op.dst) lanes<Bits>(w, op.dst)[lane] = old;
  }
}

template <class Bits>
[[gnu::noinline]] void on_shared(Warp& w, const Op& op, Update<Bits> update, const uint32_t* address,
                                 Mask mask) {
  Block& b = *w.block;
  uint32_t own[kLanes];
  if (b.cluster != nullptr) {
    const auto serve = [&](const uint32_t* at, Mask lanes) { on_shared(w, op, update, at, lanes); };
    mask = serve_other_blocks(w, op, address, mask, sizeof(Bits), true, own, serve);
    if (mask == 0) return;
    address = own;
  }
  const Mask good = ready_shared(w, op, address, sizeof(Bits), mask);
  const Bits* value = lanes_in<Bits>(w, op.src[1]);
  const Bits* value2 = lanes_in<Bits>(w, op.src[2]);
  for (Mask m = good; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    const Bits old = update(w, b.shared.data() + address[lane], value[lane], value2[lane]);
    if (op.dst) lanes<Bits>(w, op.dst)[lane] = old;
  }
}

template <class Bits>
[[gnu::noinline]] void run_global(Warp& w, const Op& op, Update<Bits> update) {
  uint64_t address[kLanes];
  lane_addresses(w, op, address);
  on_global(w, op, update, address, w.exec);
}
template <class Bits>
[[gnu::noinline]] void run_shared(Warp& w, const Op& op, Update<Bits> update) {
  uint32_t address[kLanes];
  lane_addresses32(w, op, address);
  on_shared(w, op, update, address, w.exec);
}

// Generic addresses, once more as offsets into shared memory, and which of them are that.
[[gnu::noinline]] Mask lanes_in_shared(Warp& w, const Op& op, uint64_t* address, uint32_t* low) {
  lane_addresses(w, op, address);
  Mask shared = 0;
  for (int i = 0; i < kLanes; ++i) {
    shared |= static_cast<Mask>((address[i] & ~(kWindowBytes - 1)) == kSharedWindow) << i;
    low[i] = static_cast<uint32_t>(address[i]);
  }
  return shared & w.exec;
}

template <class Bits>
[[gnu::noinline]] void run_generic(Warp& w, const Op& op, Update<Bits> update) {
  uint64_t address[kLanes];
  uint32_t low[kLanes];
  const Mask shared = lanes_in_shared(w, op, address, low);
  if (shared) on_shared(w, op, update, low, shared);
  if (shared != w.exec) on_global(w, op, update, address, w.exec & ~shared);
}

// Several elements per lane, side by side in global memory: each on its own, but checked and counted as one
// access. The list has the places for what was there before, then the values.
template <class Bits>
[[gnu::noinline]] void run_vector(Warp& w, const Op& op, Update<Bits> update) {
  uint64_t address[kLanes];
  lane_addresses(w, op, address);
  const Mask good = ready_global(w, op, address, op.atomic.bytes, w.exec);
  const int count = op.atomic.bytes / int{sizeof(Bits)};
  for (Mask m = good; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    order(w, op, address[lane], w.block->options->check_race);
    uint8_t* const at = DeviceMemory::host(address[lane]);
    for (int i = 0; i < count; ++i) {
      const Bits value = lanes_in<Bits>(w, op.list[count + i])[lane];
      const Bits old = update(w, at + i * sizeof(Bits), value, 0);
      if (op.list[i]) lanes<Bits>(w, op.list[i])[lane] = old;
    }
  }
}

using Key = std::string;
struct Row {
  OpFn global, shared, generic, vector;
};
template <class Bits, Update<Bits> kUpdate>
void op_global(Warp& w, const Op& op) {
  run_global<Bits>(w, op, kUpdate);
}
template <class Bits, Update<Bits> kUpdate>
void op_shared(Warp& w, const Op& op) {
  run_shared<Bits>(w, op, kUpdate);
}
template <class Bits, Update<Bits> kUpdate>
void op_generic(Warp& w, const Op& op) {
  run_generic<Bits>(w, op, kUpdate);
}
template <class Bits, Update<Bits> kUpdate>
void op_vector(Warp& w, const Op& op) {
  run_vector<Bits>(w, op, kUpdate);
}
template <class T, class Bits, class Fn>
Row row() {
  constexpr Update<Bits> kUpdate = &update<T, Bits, Fn>;
  return {op_global<Bits, kUpdate>, op_shared<Bits, kUpdate>, op_generic<Bits, kUpdate>,
          op_vector<Bits, kUpdate>};
}

const std::unordered_map<Key, Row>& rows() {
  static const std::unordered_map<Key, Row> table = [] {
    std::unordered_map<Key, Row> t;
    t["add.u32"] = t["add.s32"] = row<uint32_t, uint32_t, Add>();
    t["add.u64"] = t["add.s64"] = row<uint64_t, uint64_t, Add>();
    t["add.f32"] = row<float, uint32_t, Add>();
    t["add.f64"] = row<double, uint64_t, Add>();
    t["add.f16"] = row<uint16_t, uint16_t, HalfAdd>();
    t["add.bf16"] = row<uint16_t, uint16_t, BfloatAdd>();
    t["add.f16x2"] = row<uint32_t, uint32_t, Pairwise<HalfAdd>>();
    t["add.bf16x2"] = row<uint32_t, uint32_t, Pairwise<BfloatAdd>>();
    t["and.b32"] = row<uint32_t, uint32_t, And>();
    t["or.b32"] = row<uint32_t, uint32_t, Or>();
    t["xor.b32"] = row<uint32_t, uint32_t, Xor>();
    t["and.b64"] = row<uint64_t, uint64_t, And>();
    t["or.b64"] = row<uint64_t, uint64_t, Or>();
    t["xor.b64"] = row<uint64_t, uint64_t, Xor>();
    t["min.u32"] = row<uint32_t, uint32_t, Min>();
    t["min.s32"] = row<int32_t, uint32_t, Min>();
    t["min.u64"] = row<uint64_t, uint64_t, Min>();
    t["min.s64"] = row<int64_t, uint64_t, Min>();
    t["max.u32"] = row<uint32_t, uint32_t, Max>();
    t["max.s32"] = row<int32_t, uint32_t, Max>();
    t["max.u64"] = row<uint64_t, uint64_t, Max>();
    t["max.s64"] = row<int64_t, uint64_t, Max>();
    t["inc.u32"] = row<uint32_t, uint32_t, Inc>();
    t["dec.u32"] = row<uint32_t, uint32_t, Dec>();
    t["exch.b32"] = row<uint32_t, uint32_t, Exchange>();
    t["exch.b64"] = row<uint64_t, uint64_t, Exchange>();
    t["cas.b16"] = row<uint16_t, uint16_t, CompareSwap>();
    t["cas.b32"] = row<uint32_t, uint32_t, CompareSwap>();
    t["cas.b64"] = row<uint64_t, uint64_t, CompareSwap>();
    return t;
  }();
  return table;
}

}  // namespace

OpFn atomic_fn(Space space, std::string_view operation, std::string_view type, int elements) {
  const auto it = rows().find(std::string(operation) + "." + std::string(type));
  if (it == rows().end()) return nullptr;
  if (elements > 1) return space == Space::kGlobal || space == Space::kGeneric ? it->second.vector : nullptr;
  switch (space) {
    case Space::kGlobal:
      return it->second.global;
    case Space::kShared:
      return it->second.shared;
    case Space::kGeneric:
      return it->second.generic;
    default:
      return nullptr;
  }
}

}  // namespace vgpu
