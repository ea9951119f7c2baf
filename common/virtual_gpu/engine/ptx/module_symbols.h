// The names of a module: variables and functions. Views into the PTX text, so that looking up copies nothing.
#pragma once

#include <string_view>
#include <unordered_map>

namespace vgpu::ptx {

enum class SymbolKind : unsigned char { kVariable, kFunction };

struct ModuleSymbol {
  SymbolKind kind;
  int index;  // into Module::variables or Module::functions
};

using ModuleSymbols = std::unordered_map<std::string_view, ModuleSymbol>;

inline const ModuleSymbol* find_symbol(const ModuleSymbols& symbols, std::string_view name) {
  const auto found = symbols.find(name);
  return found == symbols.end() ? nullptr : &found->second;
}

}  // namespace vgpu::ptx
