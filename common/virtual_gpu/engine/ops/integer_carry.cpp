// Extended-precision arithmetic: add, sub and mad that write the carry (.cc), read it (addc, subc, madc) or
// both. The carry is the adder's own: a - b is a + ~b + 1, so after a subtraction it says that nothing was
// borrowed. Chains of one kind cannot tell; the 128-bit division that nvcc inlines reads it with addc.
#include "ops/builders.h"
#include "ops/products.h"
#include "ops/types.h"

namespace vgpu::ops {
namespace {

template <class T>
struct Result {
  T value;
  T carry;  // 0 or 1
};

template <class T>
inline Result<T> add_carry(T a, T b, T carry) {
  const T partial = a + b;
  const T sum = partial + carry;
  return {sum, static_cast<T>((partial < a) | (sum < partial))};
}

template <class T>
struct AddCarry {
  static constexpr bool kFirst = false;  // the carry into the first of a chain
  Result<T> operator()(T a, T b, T, T carry) const { return add_carry<T>(a, b, carry); }
};

template <class T>
struct SubCarry {
  static constexpr bool kFirst = true;
  Result<T> operator()(T a, T b, T, T carry) const { return add_carry<T>(a, static_cast<T>(~b), carry); }
};

// Operands come as unsigned bits; S says how the product reads them.
template <class S, class Part>
struct MadCarry {
  static constexpr bool kFirst = false;
  using T = Unsigned<S>;
  Result<T> operator()(T a, T b, T c, T carry) const {
    const T product = static_cast<T>(Part{}(static_cast<S>(a), static_cast<S>(b)));
    return add_carry<T>(product, c, carry);
  }
};

enum class Carry { kWrites, kReads, kBoth };

// Writes the results and returns the carries. One function serves full and partial warps and all three kinds
// of Carry.
template <class Fn, class T, int kSources>
[[gnu::noinline]] Mask add_lanes(Warp& w, const Op& op, Mask carry_in) {
  const T* a = lanes_in<T>(w, op.src[0]);
  const T* b = lanes_in<T>(w, op.src[1]);
  const T* c = lanes_in<T>(w, op.src[kSources == 3 ? 2 : 1]);
  T value[kLanes], carry[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    const T in = lane_is_on<T>(carry_in, i) ? T{1} : T{0};
    const Result<T> r = Fn{}(a[i], b[i], c[i], in);
    value[i] = r.value;
    carry[i] = r.carry;
  }
  store_lanes<false, T>(w, op.dst, [&](int i) { return value[i]; });
  return collect_mask<T>([&](int i) { return carry[i] != 0; });
}

template <class Fn, class T, int kSources, Carry kCarry>
void run_carry(Warp& w, const Op& op) {
  const Mask carry_in = kCarry != Carry::kWrites ? predicate(w, op.src[3]) : Fn::kFirst ? ~Mask{0} : 0;
  const Mask carry_out = add_lanes<Fn, T, kSources>(w, op, carry_in);
  if constexpr (kCarry != Carry::kReads) write_predicate(w, op.dst2, carry_out);
}

void add_row(FormTable& t, const FormName& name, size_t lane_bytes, int sources, Carry carry, OpFn fn) {
  constexpr const char* kMark[] = {" +c", " -c", " *c"};
  const std::string width = std::to_string(8 * lane_bytes);
  std::string signature = width;
  for (int i = 0; i < sources; ++i) signature += " " + width;
  t.add(name, signature + kMark[static_cast<int>(carry)], fn, fn);
}

template <class Fn, class T, int kSources>
void add_rows(FormTable& t, std::string_view op, std::string_view part) {
  using U = Unsigned<T>;
  add_row(t, typed<T>(op, part, ".cc"), sizeof(T), kSources, Carry::kWrites,
          &run_carry<Fn, U, kSources, Carry::kWrites>);
  add_row(t, typed<T>(op, "c", part), sizeof(T), kSources, Carry::kReads,
          &run_carry<Fn, U, kSources, Carry::kReads>);
  add_row(t, typed<T>(op, "c", part, ".cc"), sizeof(T), kSources, Carry::kBoth,
          &run_carry<Fn, U, kSources, Carry::kBoth>);
}

}  // namespace

void add_integer_carry(FormTable& t) {
  t.count_as(InstrClass::kInteger);
  for_types<uint32_t, int32_t, uint64_t, int64_t>([&]<class T>() {
    add_rows<AddCarry<Unsigned<T>>, T, 2>(t, "add", "");
    add_rows<SubCarry<Unsigned<T>>, T, 2>(t, "sub", "");
    add_rows<MadCarry<T, LowProduct<T>>, T, 3>(t, "mad", ".lo");
    add_rows<MadCarry<T, HighProduct<T>>, T, 3>(t, "mad", ".hi");
  });
}

}  // namespace vgpu::ops
