#include "name_scopes.h"

#include "lexer.h"

namespace vgpu::ptx {
namespace {

// Per function, ranges included: more than any compiler emits, few enough to keep tables small.
constexpr uint64_t kMaxRegisters = 1 << 20;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The length of the name without its trailing digits: 2 for "%r12".
size_t prefix_length(std::string_view name) {
  size_t length = name.size();
  while (length > 0 && is_digit(name[length - 1])) --length;
  return length;
}

}  // namespace

NameScopes::Entry& NameScopes::add(Index& index, std::string_view name, int line) {
  const int here = static_cast<int>(entries_.size());
  const auto [slot, is_new] = index.try_emplace(name, here);
  Entry entry;
  entry.name = name;
  entry.depth = depth_;
  if (!is_new) {
    entry.hidden = slot->second;
    if (entry.hidden >= 0 && entries_[entry.hidden].depth == depth_) {
      throw ParseError(line, in_quotes(name) + " is declared twice in the same scope");
    }
    slot->second = here;
  }
  entry.is_range = &index == &ranges_;
  entries_.push_back(std::move(entry));
  return entries_.back();
}

void NameScopes::close() {
  while (!entries_.empty() && entries_.back().depth == depth_) {
    const Entry& entry = entries_.back();
    (entry.is_range ? ranges_ : names_)[entry.name] = entry.hidden;
    entries_.pop_back();
  }
  --depth_;
}

void NameScopes::declare_register(std::string_view name, Type type, int line) {
  uint64_t number = 0;
  const Entry* range = find_in_ranges(name, number);
  if (range != nullptr && range->depth == depth_) {
    throw ParseError(line, in_quotes(name) + " is declared twice: a register range already holds it");
  }
  Entry& entry = add(names_, name, line);
  entry.is_register = true;
  entry.type = type;
  entry.count = 1;
}

void NameScopes::declare_register_range(std::string_view prefix, uint64_t count, Type type, int line) {
  registers_declared_ += count;
  if (count > kMaxRegisters || registers_declared_ > kMaxRegisters) {
    throw ParseError(line, "register range " +
                               in_quotes(std::string(prefix) + "<" + std::to_string(count) + ">") +
                               " is too large: a function may declare at most " +
                               std::to_string(kMaxRegisters) + " registers");
  }
  Entry& entry = add(ranges_, prefix, line);
  entry.is_register = true;
  entry.type = type;
  entry.count = count;
}

void NameScopes::declare_parameter(std::string_view name, Space space, int line) {
  Entry& entry = add(names_, name, line);
  entry.unique_name = name;
  entry.space = space;
  ++variable_uses_[name];
}

std::string NameScopes::declare_variable(std::string_view name, Space space, int line) {
  Entry& entry = add(names_, name, line);
  int& uses = variable_uses_[name];
  // A module variable of that name may be meant elsewhere in this function: keep the two apart.
  if (uses == 0 && find_symbol(symbols_, name) != nullptr) uses = 1;
  ++uses;
  entry.unique_name = name;
  if (uses > 1) entry.unique_name += "#" + std::to_string(uses);  // no PTX name contains '#'
  entry.space = space;
  return entry.unique_name;
}

NameScopes::Entry* NameScopes::find_in_ranges(std::string_view name, uint64_t& number) {
  const size_t length = prefix_length(name);
  const size_t digits = name.size() - length;
  // %r007 would be a second spelling of %r7: no declaration produces it.
  if (digits == 0 || digits > 7 || (digits > 1 && name[length] == '0')) return nullptr;
  const auto slot = ranges_.find(name.substr(0, length));
  if (slot == ranges_.end()) return nullptr;
  number = 0;
  for (char c : name.substr(length)) number = number * 10 + (c - '0');
  int at = slot->second;
  while (at >= 0 && number >= entries_[at].count) at = entries_[at].hidden;
  return at < 0 ? nullptr : &entries_[at];
}

int NameScopes::register_index(Entry& entry, uint64_t number, std::string_view name) {
  if (entry.regs.size() <= number) entry.regs.resize(number + 1, -1);
  int& index = entry.regs[number];
  if (index < 0) {
    index = static_cast<int>(function_.regs.size());
    function_.regs.push_back({std::string(name), entry.type});
  }
  return index;
}

NameScopes::Found NameScopes::find(std::string_view name) {
  Entry* best = nullptr;
  const auto slot = names_.find(name);
  if (slot != names_.end() && slot->second >= 0) best = &entries_[slot->second];
  uint64_t number = 0;
  Entry* range = find_in_ranges(name, number);
  if (range != nullptr && (best == nullptr || range->depth > best->depth)) {
    best = range;
  } else {
    number = 0;
  }
  Found found;
  if (best == nullptr) return found;
  if (best->is_register) {
    found.kind = Found::Kind::kRegister;
    found.reg = register_index(*best, number, name);
  } else {
    found.kind = Found::Kind::kVariable;
    found.variable = &best->unique_name;
    found.space = best->space;
  }
  return found;
}

}  // namespace vgpu::ptx
