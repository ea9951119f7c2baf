#include "link.h"

#include <algorithm>
#include <unordered_map>

namespace vgpu::ptx {
namespace {

using Renames = std::unordered_map<std::string, std::string>;

class Linker {
 public:
  explicit Linker(const std::vector<LinkUnit>& units) {
    linked_.files.emplace_back();
    linked_.locs.emplace_back();
    for (const LinkUnit& unit : units) shared_.insert(unit.linkage.shared.begin(), unit.linkage.shared.end());
  }

  void add(LinkUnit unit) {
    ++units_;
    Module& module = unit.module;
    rename_private(module, unit.linkage);
    move_places(module);
    linked_.target = std::max(linked_.target, module.target);
    const auto version = std::pair(module.version_major, module.version_minor);
    if (version > std::pair(linked_.version_major, linked_.version_minor))
      std::tie(linked_.version_major, linked_.version_minor) = version;
    for (Variable& variable : module.variables) add_variable(std::move(variable), unit.linkage);
    for (Function& function : module.functions) add_function(std::move(function), unit.linkage);
  }

  Module take() { return std::move(linked_); }

 private:
  struct Known {
    size_t index;
    bool is_function, is_weak;
  };

  // Names that another file has as well get a number.
  void rename_private(Module& module, const Linkage& linkage) {
    Renames renames;
    auto consider = [&](std::string& name) {
      if (linkage.shared.contains(name) || !(shared_.contains(name) || known_.contains(name))) return;
      const std::string fresh = name + kFileMark + std::to_string(units_);
      renames.emplace(name, fresh);
      name = fresh;
    };
    for (Variable& variable : module.variables) consider(variable.name);
    // Declared and nowhere defined are functions that the device has, such as vprintf.
    for (Function& function : module.functions)
      if (!function.is_declaration) consider(function.name);
    if (renames.empty()) return;
    for (Variable& variable : module.variables)
      for (Relocation& relocation : variable.relocations) rename(relocation.symbol, renames);
    for (Function& function : module.functions) rename_uses(function, renames);
  }

  static void rename(std::string& name, const Renames& renames) {
    const auto found = renames.find(name);
    if (found != renames.end()) name = found->second;
  }

  static void rename_uses(Function& function, const Renames& renames) {
    std::unordered_set<std::string_view> hidden;  // by the function's own names
    for (const auto* own : {&function.params, &function.returns, &function.variables})
      for (const Variable& variable : *own) hidden.insert(variable.name);
    for (const Label& label : function.labels) hidden.insert(label.name);
    for (Instruction& instruction : function.body)
      for (Operand& operand : instruction.operands) rename_uses(operand, renames, hidden);
  }

  static void rename_uses(Operand& operand, const Renames& renames,
                          const std::unordered_set<std::string_view>& hidden) {
    const bool names = operand.kind == OperandKind::kSymbol || operand.kind == OperandKind::kAddress;
    if (names && !hidden.contains(operand.name)) rename(operand.name, renames);
    for (Operand& item : operand.items) rename_uses(item, renames, hidden);
  }

  // Files and places of all modules lie in one table each; index 0 is "unknown" in both.
  void move_places(Module& module) {
    const int files = static_cast<int>(linked_.files.size()) - 1;
    const int places = static_cast<int>(linked_.locs.size()) - 1;
    auto moved = [&](int& loc) { loc = loc > 0 ? loc + places : 0; };
    for (Loc& loc : module.locs) {
      if (loc.file > 0) loc.file += files;
      moved(loc.inlined_at);
    }
    for (Function& function : module.functions) {
      moved(function.loc);
      for (Instruction& instruction : function.body) moved(instruction.loc);
    }
    append_all_but_first(linked_.files, module.files);
    append_all_but_first(linked_.locs, module.locs);
  }

  template <typename T>
  static void append_all_but_first(std::vector<T>& to, std::vector<T>& from) {
    if (!from.empty()) to.insert(to.end(), from.begin() + 1, from.end());
  }

  void add_variable(Variable variable, const Linkage& linkage) {
    const bool is_weak = linkage.weak.contains(variable.name);
    const auto [entry, is_new] = known_.try_emplace(variable.name);
    if (is_new) {
      entry->second = {linked_.variables.size(), false, is_weak};
      linked_.variables.push_back(std::move(variable));
      return;
    }
    if (entry->second.is_function)
      throw LinkError(variable.name, "is a variable in one file, a function in another");
    Variable& known = linked_.variables[entry->second.index];
    if (known.space != variable.space) throw LinkError(variable.name, "is declared in two kinds of memory");
    if (variable.is_extern) {
      if (known.is_extern) known.align = std::max(known.align, variable.align);
    } else if (known.is_extern || (entry->second.is_weak && !is_weak)) {
      known = std::move(variable);
      entry->second.is_weak = is_weak;
    } else if (!is_weak) {
      throw LinkError(variable.name, "is defined in two files");
    }
  }

  void add_function(Function function, const Linkage& linkage) {
    const bool is_weak = linkage.weak.contains(function.name);
    const auto [entry, is_new] = known_.try_emplace(function.name);
    if (is_new) {
      entry->second = {linked_.functions.size(), true, is_weak};
      linked_.functions.push_back(std::move(function));
      return;
    }
    if (!entry->second.is_function)
      throw LinkError(function.name, "is a function in one file, a variable in another");
    Function& known = linked_.functions[entry->second.index];
    if (function.is_declaration) return;
    if (known.is_declaration || (entry->second.is_weak && !is_weak)) {
      known = std::move(function);
      entry->second.is_weak = is_weak;
    } else if (!is_weak) {
      throw LinkError(function.name, "is defined in two files");
    }
  }

  Module linked_;
  int units_ = 0;
  std::unordered_set<std::string> shared_;  // by any unit
  std::unordered_map<std::string, Known> known_;
};

}  // namespace

Module link(std::vector<LinkUnit> units) {
  if (units.size() == 1) return std::move(units.front().module);
  Linker linker(units);
  for (LinkUnit& unit : units) linker.add(std::move(unit));
  return linker.take();
}

}  // namespace vgpu::ptx
