// Builds one opcode table: rows are made in loops over types and modifiers, so their texts are made too.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exec/op.h"
#include "ops/lane_map.h"

namespace vgpu {

class FormTable {
 public:
  // What the rows added from here on count as.
  void count_as(InstrClass cls) { cls_ = cls; }

  void add(std::string_view name, std::string_view signature, OpFn masked, OpFn full) {
    rows_.push_back({keep(name), keep(signature), masked, full, cls_});
  }

  // A lane-wise function in everyday use: its masked form is compiled apart, for speed.
  template <class Fn, class D, class... S>
  void hot(std::string_view name) {
    add(name, signature<D, S...>(), &ops::Map<Fn, D, S...>::template run<false>,
        &ops::Map<Fn, D, S...>::template run<true>);
  }

  // Any other lane-wise function.
  template <class Fn, class D, class... S>
  void map(std::string_view name) {
    map_with<D, S...>(name, &ops::Map<Fn, D, S...>::template run<true>);
  }

  // A function over whole registers that writes all lanes of a D-wide destination.
  template <class D, class... S>
  void map_with(std::string_view name, OpFn full) {
    add(name, signature<D, S...>(), &ops::restore_inactive<ops::Bits<D>>, full);
  }

  std::span<const OpForm> rows() const { return rows_; }

 private:
  template <class D, class... S>
  static std::string signature() {
    std::string text = std::to_string(8 * sizeof(D));
    ((text += ' ' + std::to_string(8 * sizeof(S))), ...);
    return text;
  }

  const char* keep(std::string_view text) { return texts_.emplace_back(text).c_str(); }

  std::deque<std::string> texts_;  // a deque: rows point into it
  std::vector<OpForm> rows_;
  InstrClass cls_ = InstrClass::kOther;
};

}  // namespace vgpu
