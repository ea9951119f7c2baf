// setp and set: a comparison gives a lane mask, an optional predicate is combined with it, and the outcome is
// written as predicates (setp) or as values (set).
//
// A "source" says how the operands are read. It has
//   Lane                         the register's lane type
//   kModifiers                   ".ftz" or nothing
//   kCmps                        how many of Cmp's values it supports: the ordered ones, or all
//   kPacked                      two comparisons a lane, of packed halves: setp writes both
//   kComplement                  setp has a second result, the complement
//   kEveryday                    compared so often that setp's plain form has a loop of its own
//   holds<kCmp, kIndex>(a, b)    the comparison, of element kIndex
#pragma once

#include <array>
#include <span>
#include <string>

#include "ops/form_table.h"

namespace vgpu::ops {

enum class Cmp { kEq, kNe, kLt, kLe, kGt, kGe, kEqu, kNeu, kLtu, kLeu, kGtu, kGeu, kNum, kNan };

struct NamedCmp {
  const char* name;
  Cmp cmp;
};

inline constexpr NamedCmp kEqualities[] = {{".eq", Cmp::kEq}, {".ne", Cmp::kNe}};
inline constexpr NamedCmp kOrders[] = {{".eq", Cmp::kEq}, {".ne", Cmp::kNe}, {".lt", Cmp::kLt},
                                       {".le", Cmp::kLe}, {".gt", Cmp::kGt}, {".ge", Cmp::kGe}};
// A second set of names for unsigned types.
inline constexpr NamedCmp kUnsignedOrders[] = {
    {".lo", Cmp::kLt}, {".ls", Cmp::kLe}, {".hi", Cmp::kGt}, {".hs", Cmp::kGe}};
inline constexpr NamedCmp kFloatCmps[] = {
    {".eq", Cmp::kEq},   {".ne", Cmp::kNe},   {".lt", Cmp::kLt},   {".le", Cmp::kLe},   {".gt", Cmp::kGt},
    {".ge", Cmp::kGe},   {".equ", Cmp::kEqu}, {".neu", Cmp::kNeu}, {".ltu", Cmp::kLtu}, {".leu", Cmp::kLeu},
    {".gtu", Cmp::kGtu}, {".geu", Cmp::kGeu}, {".num", Cmp::kNum}, {".nan", Cmp::kNan}};

enum class Join { kNone, kAnd, kOr, kXor };
constexpr int kJoins = 4;

// `unordered` says that an operand is NaN. "And", "or" on bool rather than && and ||: no branches.
template <Cmp kCmp, class T>
inline bool compare(T a, T b, bool unordered) {
  switch (kCmp) {
    case Cmp::kEq:
      return a == b;
    case Cmp::kNe:
      return (a != b) & !unordered;
    case Cmp::kLt:
      return a < b;
    case Cmp::kLe:
      return a <= b;
    case Cmp::kGt:
      return a > b;
    case Cmp::kGe:
      return a >= b;
    case Cmp::kEqu:
      return (a == b) | unordered;
    case Cmp::kNeu:
      return a != b;
    case Cmp::kLtu:
      return !(a >= b);
    case Cmp::kLeu:
      return !(a > b);
    case Cmp::kGtu:
      return !(a <= b);
    case Cmp::kGeu:
      return !(a < b);
    case Cmp::kNum:
      return !unordered;
    case Cmp::kNan:
      return unordered;
  }
}

template <class Source, Cmp kCmp, int kIndex>
inline Mask evaluate(const Warp& w, const Op& op) {
  using Lane = typename Source::Lane;
  const Lane* a = lanes_in<Lane>(w, op.src[0]);
  const Lane* b = lanes_in<Lane>(w, op.src[1]);
  return collect_mask<Lane>([&](int i) { return Source::template holds<kCmp, kIndex>(a[i], b[i]); });
}

template <class Source, Cmp kCmp, int kIndex>
[[gnu::noinline]] Mask evaluate_called(const Warp& w, const Op& op) {
  return evaluate<Source, kCmp, kIndex>(w, op);
}

// By Cmp: the comparison itself, or the one that holds exactly where it does not. Where there is no NaN, half
// of the ordered ones are the others' opposites; where there is, each unordered one is an ordered one's.
inline constexpr Cmp kSameOrOpposite[] = {Cmp::kEq, Cmp::kEq, Cmp::kLt, Cmp::kLe, Cmp::kLe, Cmp::kLt};
inline constexpr Cmp kSameOrOppositeOfFloats[] = {Cmp::kEq, Cmp::kNe, Cmp::kLt,  Cmp::kLe, Cmp::kGt,
                                                  Cmp::kGe, Cmp::kNe, Cmp::kEq,  Cmp::kGe, Cmp::kGt,
                                                  Cmp::kLe, Cmp::kLt, Cmp::kNum, Cmp::kNum};

// The same as evaluate, with one loop for all forms that need it or its opposite.
template <class Source, Cmp kCmp, int kIndex>
inline Mask evaluate_shared(const Warp& w, const Op& op) {
  constexpr bool kOrdersOnly = Source::kCmps == std::size(kSameOrOpposite);
  constexpr Cmp kLoop = (kOrdersOnly ? kSameOrOpposite : kSameOrOppositeOfFloats)[static_cast<int>(kCmp)];
  const Mask outcome = evaluate_called<Source, kLoop, kIndex>(w, op);
  return kLoop == kCmp ? outcome : ~outcome;
}

template <Join kJoin>
inline Mask joined(Mask outcome, Warp& w, const Op& op) {
  if constexpr (kJoin == Join::kNone) return outcome;
  const Mask other = predicate(w, op.src[2]);
  if constexpr (kJoin == Join::kAnd) return outcome & other;
  if constexpr (kJoin == Join::kOr) return outcome | other;
  return outcome ^ other;
}

template <class Source, Cmp kCmp, Join kJoin>
void set_predicates(Warp& w, const Op& op) {
  Mask first;
  if constexpr (kJoin == Join::kNone && Source::kEveryday) {
    first = evaluate<Source, kCmp, 0>(w, op);
  } else {
    first = evaluate_shared<Source, kCmp, 0>(w, op);
  }
  Mask second = ~first;
  if constexpr (Source::kPacked) second = evaluate_shared<Source, kCmp, 1>(w, op);
  const Mask p = joined<kJoin>(first, w, op), q = joined<kJoin>(second, w, op);
  write_predicate(w, op.dst, p);
  if constexpr (Source::kPacked || Source::kComplement) write_predicate(w, op.dst2, q);
}

template <class Lane>
[[gnu::noinline]] void store_outcome(Warp& w, uint32_t dst, Mask outcome, Lane value) {
  store_lanes<false, Lane>(w, dst, [&](int i) { return lane_is_on<Lane>(outcome, i) ? value : Lane{0}; });
}

[[gnu::noinline]] inline void store_outcomes(Warp& w, uint32_t dst, Mask low, Mask high, uint32_t value) {
  store_lanes<false, uint32_t>(w, dst, [&](int i) {
    return (lane_is_on<uint32_t>(low, i) ? value : 0u) | (lane_is_on<uint32_t>(high, i) ? value << 16 : 0u);
  });
}

// What set writes where the outcome is true, and the result types that are written so. For packed sources
// the value is that of each half.
struct SetResult {
  int width;
  uint32_t value;
  std::array<const char*, 2> types;
};

inline constexpr SetResult kSetInt32{32, 0xffffffffu, {".u32", ".s32"}};
inline constexpr SetResult kSetInt16{16, 0xffffu, {".u16", ".s16"}};
inline constexpr SetResult kSetFloat{32, 0x3f800000u, {".f32"}};
inline constexpr SetResult kSetHalf{16, 0x3c00u, {".f16"}};
inline constexpr SetResult kSetBfloat{16, 0x3f80u, {".bf16"}};
inline constexpr SetResult kSetPackedInt16{32, 0xffffu, {".u32", ".s32"}};
inline constexpr SetResult kSetPackedHalf{32, 0x3c00u, {".f16x2"}};
inline constexpr SetResult kSetPackedBfloat{32, 0x3f80u, {".bf16x2"}};

// What is left of a set once the comparison is done: the same for all sources and comparisons.
template <Join kJoin, const SetResult& kResult>
[[gnu::noinline]] void set_outcome(Warp& w, const Op& op, Mask outcome) {
  using Lane = std::conditional_t<kResult.width == 16, uint16_t, uint32_t>;
  store_outcome<Lane>(w, op.dst, joined<kJoin>(outcome, w, op), static_cast<Lane>(kResult.value));
}

template <Join kJoin, const SetResult& kResult>
[[gnu::noinline]] void set_outcomes(Warp& w, const Op& op, Mask low, Mask high) {
  store_outcomes(w, op.dst, joined<kJoin>(low, w, op), joined<kJoin>(high, w, op), kResult.value);
}

template <class Source, Cmp kCmp, Join kJoin, const SetResult& kResult>
void set_values(Warp& w, const Op& op) {
  const Mask first = evaluate_shared<Source, kCmp, 0>(w, op);
  if constexpr (Source::kPacked) {
    set_outcomes<kJoin, kResult>(w, op, first, evaluate_shared<Source, kCmp, 1>(w, op));
  } else {
    set_outcome<kJoin, kResult>(w, op, first);
  }
}

// The functions of all comparisons with all joins; joins run fastest.
template <class Source, size_t... I>
constexpr std::array<OpFn, sizeof...(I)> predicate_functions(std::index_sequence<I...>) {
  return {&set_predicates<Source, static_cast<Cmp>(I / kJoins), static_cast<Join>(I % kJoins)>...};
}

template <class Source, const SetResult& kResult, size_t... I>
constexpr std::array<OpFn, sizeof...(I)> value_functions(std::index_sequence<I...>) {
  return {&set_values<Source, static_cast<Cmp>(I / kJoins), static_cast<Join>(I % kJoins), kResult>...};
}

// Adds a row for each comparison in `cmps` and each join. The name is op, comparison, join, ending; the
// signature is what is written (`result`), the two operands, and the predicate to join.
void add_compare_rows(FormTable& t, std::string_view op, std::span<const NamedCmp> cmps,
                      std::string_view ending, std::string_view result, int operand_width,
                      std::span<const OpFn> functions);

template <class Source>
using AllCombinations = std::make_index_sequence<Source::kCmps * kJoins>;

template <class Source>
constexpr int kOperandWidth = 8 * sizeof(typename Source::Lane);

template <class Source>
void add_setp(FormTable& t, std::span<const NamedCmp> cmps, const std::string& type) {
  static constexpr auto kFunctions = predicate_functions<Source>(AllCombinations<Source>{});
  add_compare_rows(t, "setp", cmps, Source::kModifiers + type,
                   Source::kPacked || Source::kComplement ? "p|p" : "p", kOperandWidth<Source>, kFunctions);
}

template <class Source, const SetResult& kResult>
void add_set(FormTable& t, std::span<const NamedCmp> cmps, const std::string& type) {
  static constexpr auto kFunctions = value_functions<Source, kResult>(AllCombinations<Source>{});
  for (const char* result_type : kResult.types) {
    if (result_type == nullptr) continue;
    add_compare_rows(t, "set", cmps, std::string(Source::kModifiers) + result_type + type,
                     kResult.width == 16 ? "16" : "32", kOperandWidth<Source>, kFunctions);
  }
}

}  // namespace vgpu::ops
