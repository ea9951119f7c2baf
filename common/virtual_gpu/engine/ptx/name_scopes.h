// Registers and variables inside one function, in nested { } scopes. An inner declaration hides an outer one,
// and sibling scopes may use the same names again.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ast.h"
#include "module_symbols.h"

namespace vgpu::ptx {

// A register enters Function::regs when it is first used: nvcc declares generous ranges
// and a scratch register at each call, and those that nothing names need no place in a register file.
class NameScopes {
 public:
  NameScopes(Function& function, const ModuleSymbols& symbols) : function_(function), symbols_(symbols) {}

  void open() { ++depth_; }
  void close();
  int depth() const { return depth_; }

  void declare_register(std::string_view name, Type type, int line);
  void declare_register_range(std::string_view prefix, uint64_t count, Type type, int line);

  // A parameter keeps its name.
  void declare_parameter(std::string_view name, Space space, int line);

  // Returns the name under which the variable is known to the function as a whole: `param0`, then `param0#2`.
  std::string declare_variable(std::string_view name, Space space, int line);

  struct Found {
    enum class Kind : uint8_t { kNothing, kRegister, kVariable } kind = Kind::kNothing;
    int reg = -1;
    Space space = Space::kGeneric;
    const std::string* variable = nullptr;  // valid until the next declaration
  };
  Found find(std::string_view name);

 private:
  struct Entry {
    std::string_view name;
    int depth = 0;
    int hidden = -1;  // the entry of an outer scope with the same name
    bool is_range = false;
    bool is_register = false;
    Type type;
    uint64_t count = 0;       // of a range
    std::vector<int> regs;    // indices into Function::regs, -1 before first use; a range grows it as needed
    std::string unique_name;  // of a variable
    Space space = Space::kGeneric;
  };
  using Index = std::unordered_map<std::string_view, int>;

  Entry& add(Index& index, std::string_view name, int line);
  Entry* find_in_ranges(std::string_view name, uint64_t& number);
  int register_index(Entry& entry, uint64_t number, std::string_view name);

  Function& function_;
  const ModuleSymbols& symbols_;
  int depth_ = 0;
  std::vector<Entry> entries_;  // a stack: the innermost scope is on top
  Index names_;                 // innermost entry of each plain name
  Index ranges_;                // innermost entry of each range, by its prefix
  std::unordered_map<std::string_view, int> variable_uses_;
  uint64_t registers_declared_ = 0;
};

}  // namespace vgpu::ptx
