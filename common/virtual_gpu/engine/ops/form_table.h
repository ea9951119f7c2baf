// Builds one opcode table: rows are made in loops over types and modifiers, so their texts are made too. What
// does not depend on types is cold and out of line: thousands of rows are compiled around it.
#pragma once

#include <array>
#include <concepts>
#include <deque>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exec/op.h"
#include "ops/lane_map.h"

namespace vgpu {

// An opcode's name in parts. They are joined where the row is kept: thousands of rows would each be compiled
// with the strings in between.
class FormName {
 public:
  template <std::convertible_to<std::string_view>... Part>
  FormName(const Part&... parts) : parts_{std::string_view(parts)...} {}
  [[gnu::cold]] std::string text() const;

 private:
  std::array<std::string_view, 8> parts_;
};

class FormTable {
 public:
  // What the rows added from here on count as.
  void count_as(InstrClass cls) { cls_ = cls; }

  [[gnu::cold]] void add(const FormName& name, std::string_view signature, OpFn masked, OpFn full,
                         uint64_t imm = 0);

  // A lane-wise function in everyday use: its masked form is compiled apart, for speed.
  template <class Fn, class D, class... S>
  void hot(const FormName& name) {
    add_lanes(name, {sizeof(D), sizeof(S)...}, &ops::Map<Fn, D, S...>::template run<false>,
              &ops::Map<Fn, D, S...>::template run<true>);
  }

  // Any other lane-wise function.
  template <class Fn, class D, class... S>
  void map(const FormName& name) {
    map_with<D, S...>(name, &ops::Map<Fn, D, S...>::template run<true>);
  }

  // A function over whole registers that writes all lanes of a D-wide destination.
  template <class D, class... S>
  void map_with(const FormName& name, OpFn full) {
    add_lanes(name, {sizeof(D), sizeof(S)...}, &ops::restore_inactive<ops::Bits<D>>, full);
  }

  std::span<const OpForm> rows() const { return rows_; }

 private:
  // A row whose operands are registers, given by the bytes of a lane.
  [[gnu::cold]] void add_lanes(const FormName& name, std::initializer_list<size_t> bytes, OpFn masked,
                               OpFn full);

  const char* keep(std::string_view text);

  std::deque<std::string> texts_;  // a deque: rows point into it
  std::vector<OpForm> rows_;
  InstrClass cls_ = InstrClass::kOther;
};

}  // namespace vgpu
