// setp and set: a comparison gives a lane mask, an optional predicate is combined with it, and the outcome is
// written as predicates (setp) or as values (set).
//
// A "source" says how the operands are read. It has
//   Lane                         the register's lane type
//   kModifiers                   ".ftz" or nothing
//   kCmps                        how many of Cmp's values it supports: the ordered ones, or all
//   kPacked                      two comparisons per lane, of packed halves: setp writes both
//   kComplement                  setp has a second result, the complement
//   kEveryday                    compared so often that setp's plain form has a loop of its own
//   holds<kCmp, kIndex>(a, b)    the comparison, of element kIndex
#pragma once

#include <array>
#include <span>
#include <string_view>

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
Mask evaluate_called(const Warp& w, const Op& op) {
  return evaluate<Source, kCmp, kIndex>(w, op);
}

// By Cmp: the comparison itself, or the one that holds exactly where it does not. Where there is no NaN, half
// of the ordered ones are the others' opposites; where there is, each unordered one is an ordered one's.
inline constexpr Cmp kSameOrOpposite[] = {Cmp::kEq, Cmp::kEq, Cmp::kLt, Cmp::kLe, Cmp::kLe, Cmp::kLt};
inline constexpr Cmp kSameOrOppositeOfFloats[] = {Cmp::kEq, Cmp::kNe, Cmp::kLt,  Cmp::kLe, Cmp::kGt,
                                                  Cmp::kGe, Cmp::kNe, Cmp::kEq,  Cmp::kGe, Cmp::kGt,
                                                  Cmp::kLe, Cmp::kLt, Cmp::kNum, Cmp::kNum};

struct SharedLoop {
  Mask (*evaluate)(const Warp&, const Op&);
  bool opposite;
};

// One loop for each comparison or its opposite, compiled once for all forms but the everyday ones.
template <class Source, int kIndex, size_t... kCmp>
constexpr std::array<SharedLoop, sizeof...(kCmp)> shared_loops(std::index_sequence<kCmp...>) {
  constexpr bool kOrdersOnly = Source::kCmps == std::size(kSameOrOpposite);
  constexpr const Cmp* kLoop = kOrdersOnly ? kSameOrOpposite : kSameOrOppositeOfFloats;
  return {
      SharedLoop{&evaluate_called<Source, kLoop[kCmp], kIndex>, kLoop[kCmp] != static_cast<Cmp>(kCmp)}...};
}

// What the rest of a form says travels in OpForm::imm: there are far more combinations of comparison, join
// and result than loops, and a function for each would take a compiler half a minute.
struct Combination {
  Cmp cmp;
  Join join;
  uint32_t value;  // what set writes where the outcome is true

  constexpr uint64_t packed() const {
    return uint64_t{value} << 32 | static_cast<uint64_t>(join) << 8 | static_cast<uint64_t>(cmp);
  }
};

template <class Source, int kIndex>
inline Mask evaluate_shared(const Warp& w, const Op& op) {
  static constexpr auto kLoops = shared_loops<Source, kIndex>(std::make_index_sequence<Source::kCmps>{});
  const SharedLoop& loop = kLoops[op.table.imm & 0xff];
  const Mask outcome = loop.evaluate(w, op);
  return loop.opposite ? ~outcome : outcome;
}

// The outcome combined with the form's predicate, if it has one.
Mask joined(Mask outcome, Warp& w, const Op& op);

inline uint32_t value_if_true(const Op& op) {
  return static_cast<uint32_t>(op.table.imm >> 32);
}

template <class Source, Cmp kCmp>
void set_predicate_everyday(Warp& w, const Op& op) {
  const Mask outcome = evaluate<Source, kCmp, 0>(w, op);
  write_predicate(w, op.dst, outcome);
  if constexpr (Source::kComplement) write_predicate(w, op.dst2, ~outcome);
}

template <class Source>
void set_predicates(Warp& w, const Op& op) {
  const Mask first = evaluate_shared<Source, 0>(w, op);
  Mask second = ~first;
  if constexpr (Source::kPacked) second = evaluate_shared<Source, 1>(w, op);
  const Mask p = joined(first, w, op), q = joined(second, w, op);
  write_predicate(w, op.dst, p);
  if constexpr (Source::kPacked || Source::kComplement) write_predicate(w, op.dst2, q);
}

template <class Lane>
void store_outcome(Warp& w, const Op& op, Mask outcome) {
  const Lane value = static_cast<Lane>(value_if_true(op));
  store_lanes<false, Lane>(w, op.dst, [&](int i) { return lane_is_on<Lane>(outcome, i) ? value : Lane{0}; });
}

void store_outcomes(Warp& w, const Op& op, Mask low, Mask high);

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

template <class Source, class Lane>
void set_values(Warp& w, const Op& op) {
  const Mask first = evaluate_shared<Source, 0>(w, op);
  if constexpr (Source::kPacked) {
    const Mask second = evaluate_shared<Source, 1>(w, op);
    store_outcomes(w, op, joined(first, w, op), joined(second, w, op));
  } else {
    store_outcome<Lane>(w, op, joined(first, w, op));
  }
}

// By Cmp, setp's plain form in everyday use.
template <class Source, size_t... kCmp>
constexpr std::array<OpFn, sizeof...(kCmp)> everyday_functions(std::index_sequence<kCmp...>) {
  return {&set_predicate_everyday<Source, static_cast<Cmp>(kCmp)>...};
}

// How the rows of one operation are named, what they write, and the function that runs them. Where `everyday`
// is not empty, it has the functions of the forms without a join, by Cmp.
struct CompareRows {
  std::string_view op, modifiers, result_type, type;
  const char* result;
  int operand_width;
  uint32_t value;
  OpFn function;
  std::span<const OpFn> everyday;
};

// Adds a row for each comparison in `cmps` and each join. The name is op, comparison, join, modifiers, types;
// the signature is what is written (`result`), the two operands, and the predicate to join.
void add_compare_rows(FormTable& t, std::span<const NamedCmp> cmps, const CompareRows& rows);

template <class Source>
constexpr int kOperandWidth = 8 * sizeof(typename Source::Lane);

template <class Source>
void add_setp(FormTable& t, std::span<const NamedCmp> cmps, std::string_view type) {
  CompareRows rows{.op = "setp",
                   .modifiers = Source::kModifiers,
                   .result_type = "",
                   .type = type,
                   .result = Source::kPacked || Source::kComplement ? "p|p" : "p",
                   .operand_width = kOperandWidth<Source>,
                   .value = 0,
                   .function = &set_predicates<Source>,
                   .everyday = {}};
  if constexpr (Source::kEveryday) {
    static constexpr auto kFunctions = everyday_functions<Source>(std::make_index_sequence<Source::kCmps>{});
    rows.everyday = kFunctions;
  }
  add_compare_rows(t, cmps, rows);
}

void add_set_rows(FormTable& t, std::span<const NamedCmp> cmps, std::string_view modifiers,
                  std::string_view type, int operand_width, const SetResult& result, OpFn function);

template <class Source>
void add_set(FormTable& t, std::span<const NamedCmp> cmps, std::string_view type, const SetResult& result) {
  add_set_rows(t, cmps, Source::kModifiers, type, kOperandWidth<Source>, result,
               result.width == 16 ? &set_values<Source, uint16_t> : &set_values<Source, uint32_t>);
}

}  // namespace vgpu::ops
