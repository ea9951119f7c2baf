// Bitwise logic on registers and on predicates, and lop3's arbitrary function of three inputs.
#include "ops/builders.h"
#include "ops/types.h"

namespace vgpu::ops {
namespace {

struct And {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};

struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};

struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};

struct Not {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(~a);
  }
};

struct LogicalNot {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(a == 0);
  }
};

template <class Fn>
void combine_predicates(Warp& w, const Op& op) {
  write_predicate(w, op.dst, Fn{}(predicate(w, op.src[0]), predicate(w, op.src[1])));
}

void invert_predicate(Warp& w, const Op& op) {
  write_predicate(w, op.dst, ~predicate(w, op.src[0]));
}

// Bit k of the table is the result where a, b, c are the bits of k, a the highest. A tree of selections: four
// by c, two by b, one by a, all bitwise over the register.
void lookup_logic(Warp& w, const Op& op) {
  uint32_t entry[8];
  for (int k = 0; k < 8; ++k) entry[k] = (op.table.imm >> k) & 1 ? ~0u : 0u;
  const auto select = [](uint32_t by, uint32_t if_clear, uint32_t if_set) {
    return if_clear ^ (by & (if_clear ^ if_set));
  };
  const uint32_t* a = lanes_in<uint32_t>(w, op.src[0]);
  const uint32_t* b = lanes_in<uint32_t>(w, op.src[1]);
  const uint32_t* c = lanes_in<uint32_t>(w, op.src[2]);
  store_lanes<true, uint32_t>(w, op.dst, [&](int i) {
    const uint32_t low = select(b[i], select(c[i], entry[0], entry[1]), select(c[i], entry[2], entry[3]));
    const uint32_t high = select(b[i], select(c[i], entry[4], entry[5]), select(c[i], entry[6], entry[7]));
    return select(a[i], low, high);
  });
}

template <class Fn>
void add_binary(FormTable& t, std::string_view op) {
  for_bit_widths([&]<class T>() { t.hot<Fn, T, T, T>(untyped<T>(op)); });
  t.add({op, ".pred"}, "p p p", &combine_predicates<Fn>, &combine_predicates<Fn>);
}

}  // namespace

void add_logic(FormTable& t) {
  t.count_as(InstrClass::kInteger);
  add_binary<And>(t, "and");
  add_binary<Or>(t, "or");
  add_binary<Xor>(t, "xor");
  for_bit_widths([&]<class T>() {
    t.hot<Not, T, T>(untyped<T>("not"));
    t.map<LogicalNot, T, T>(untyped<T>("cnot"));
  });
  t.add("not.pred", "p p", &invert_predicate, &invert_predicate);
  t.add("lop3.b32", "32 32 32 32 #", &restore_inactive<uint32_t>, &lookup_logic);
}

}  // namespace vgpu::ops
