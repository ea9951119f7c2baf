// mov, its packing and unpacking forms, and the selections selp and slct.
#include "ops/builders.h"
#include "ops/float_tools.h"
#include "ops/types.h"

namespace vgpu::ops {
namespace {

struct Copy {
  template <class T>
  T operator()(T a) const {
    return a;
  }
};

void copy_predicate(Warp& w, const Op& op) {
  write_predicate(w, op.dst, predicate(w, op.src[0]));
}

// Parts of a packed value, lowest first. An 8-bit part is kept in a 16-bit slot, so a part's type and the
// slot it lies in are given apart.
template <bool kFull, class Whole, class Part, class Slot>
void pack(Warp& w, const Op& op) {
  constexpr int kParts = sizeof(Whole) / sizeof(Part);
  const Slot* part[kParts];
  for (int k = 0; k < kParts; ++k) part[k] = lanes_in<Slot>(w, op.list[1 + k]);
  store_lanes<kFull, Whole>(w, op.list[0], [&](int i) {
    Whole whole = 0;
    for (int k = 0; k < kParts; ++k) {
      whole = static_cast<Whole>(whole | static_cast<Whole>(static_cast<Part>(part[k][i]))
                                             << (8 * sizeof(Part) * k));
    }
    return whole;
  });
}

template <bool kFull, class Whole, class Part, class Slot>
void unpack(Warp& w, const Op& op) {
  constexpr int kParts = sizeof(Whole) / sizeof(Part);
  const Whole* whole = lanes_in<Whole>(w, op.list[kParts]);
  for (int k = 0; k < kParts; ++k) {
    store_lanes<kFull, Slot>(w, op.list[k],
                             [&](int i) { return static_cast<Part>(whole[i] >> (8 * sizeof(Part) * k)); });
  }
}

template <class Whole, class Part, class Slot = Part>
void add_packing(FormTable& t) {
  const std::string whole = std::to_string(8 * sizeof(Whole));
  const std::string parts =
      std::to_string(8 * sizeof(Part)) + "x" + std::to_string(sizeof(Whole) / sizeof(Part));
  t.add({"mov.b", whole}, whole + " " + parts, &pack<false, Whole, Part, Slot>,
        &pack<true, Whole, Part, Slot>);
  t.add({"mov.b", whole}, parts + " " + whole, &unpack<false, Whole, Part, Slot>,
        &unpack<true, Whole, Part, Slot>);
}

template <bool kFull, class T>
void select_by_predicate(Warp& w, const Op& op) {
  const T* a = lanes_in<T>(w, op.src[0]);
  const T* b = lanes_in<T>(w, op.src[1]);
  const Mask first = predicate(w, op.src[2]);
  store_lanes<kFull, T>(w, op.dst, [&](int i) {
    const T if_set = a[i], if_clear = b[i];
    return lane_is_on<T>(first, i) ? if_set : if_clear;
  });
}

template <class Condition, bool kFtz>
struct SelectBySign {
  template <class T>
  T operator()(T a, T b, Condition c) const {
    if constexpr (kFtz) c = flush_subnormal(c);
    return c >= 0 ? a : b;
  }
};

// The types by which a type's width is written.
template <class T>
std::vector<const char*> spellings() {
  std::vector<const char*> types = {kDotBits<T>, kDotType<T>, kDotType<std::make_signed_t<T>>};
  if constexpr (sizeof(T) == 4) types.push_back(".f32");
  if constexpr (sizeof(T) == 8) types.push_back(".f64");
  return types;
}

}  // namespace

void add_moves(FormTable& t) {
  t.count_as(InstrClass::kMove);
  for_bit_widths([&]<class T>() {
    for (const char* type : spellings<T>()) t.hot<Copy, T, T>({"mov", type});
  });
  t.add("mov.pred", "p p", &copy_predicate, &copy_predicate);
  add_packing<uint16_t, uint8_t, uint16_t>(t);
  add_packing<uint32_t, uint8_t, uint16_t>(t);
  add_packing<uint32_t, uint16_t>(t);
  add_packing<uint64_t, uint16_t>(t);
  add_packing<uint64_t, uint32_t>(t);
}

void add_selections(FormTable& t) {
  t.count_as(InstrClass::kMove);
  for_bit_widths([&]<class T>() {
    const std::string width = std::to_string(8 * sizeof(T));
    for (const char* type : spellings<T>()) {
      t.add({"selp", type}, width + " " + width + " " + width + " p", &select_by_predicate<false, T>,
            &select_by_predicate<true, T>);
    }
    for (const char* type : spellings<T>()) {
      t.map<SelectBySign<int32_t, false>, T, T, T, int32_t>({"slct", type, ".s32"});
      t.map<SelectBySign<float, false>, T, T, T, float>({"slct", type, ".f32"});
      t.map<SelectBySign<float, true>, T, T, T, float>({"slct.ftz", type, ".f32"});
    }
  });
}

}  // namespace vgpu::ops
