// The statements of a module: version and target, variables, functions, aliases, debug sections.
#pragma once

#include <string_view>
#include <unordered_map>

#include "ast.h"
#include "link.h"
#include "module_symbols.h"
#include "source_locations.h"
#include "token_stream.h"

namespace vgpu::ptx {

class ModuleParser {
 public:
  explicit ModuleParser(std::string_view text) : tokens_(text), locations_(module_) {}

  Module parse();
  const Linkage& linkage() const { return linkage_; }  // of what was parsed

 private:
  struct Alias {
    std::string_view target;
    int line;
  };

  // Module statements (module_parser.cpp)
  void parse_statement();
  void parse_version();
  void parse_target();
  void parse_address_size();
  void parse_linked();  // [.visible .extern .weak .common] variable or function
  void note_linkage(std::string_view name);
  void parse_variables(Space space, bool is_extern, bool is_managed);
  int declare_variable(Variable variable, std::string_view name, int line);
  void parse_alias();
  void resolve_aliases();
  void rename_aliases(Function& function) const;

  // Functions (function_header.cpp)
  void parse_function();
  void parse_function_directives(Function& function);
  void refuse_large_parameters(const Function& function);
  int declare_function(Function header, std::string_view name);

  TokenStream tokens_;
  Module module_;
  SourceLocations locations_;
  ModuleSymbols symbols_;
  std::unordered_map<std::string_view, Alias> aliases_;
  uint64_t initialised_bytes_ = 0;
  Linkage linkage_;
  bool is_shared_ = false, is_weak_ = false;  // the declaration that is being parsed
};

}  // namespace vgpu::ptx
