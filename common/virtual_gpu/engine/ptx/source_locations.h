// .file, .loc and .section: what ties instructions to the lines of the student's source.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ast.h"
#include "token_stream.h"

namespace vgpu::ptx {

class SourceLocations {
 public:
  explicit SourceLocations(Module& module);

  // Call sites of inlined code are looked for among the locations of the function at hand.
  void begin_function() { latest_at_place_.clear(); }

  // Each with its directive as the current token.
  void parse_file(TokenStream& tokens);
  void parse_section(TokenStream& tokens);
  int parse_loc(TokenStream& tokens);  // index into Module::locs

  // Fills in the function names, whose text may stand after everything that refers to it.
  void resolve_function_names();

 private:
  // `function_name $L__info_string3+2`: a string inside .debug_str
  struct NameReference {
    std::string_view label;
    uint64_t offset = 0;
    int line = 0;
  };
  struct Key {
    int file, line, column, inlined_at;
    std::string_view label;
    uint64_t offset;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };

  Loc parse_place(TokenStream& tokens) const;
  NameReference parse_name_reference(TokenStream& tokens) const;
  int call_site(const Loc& place);
  int intern(const Loc& loc, const NameReference& name);
  void parse_section_data(TokenStream& tokens, bool is_debug_str);

  Module& module_;
  std::vector<NameReference> names_;  // parallel to Module::locs
  std::unordered_map<Key, int, KeyHash> interned_;
  std::unordered_map<Key, int, KeyHash> latest_at_place_;  // keyed by file, line and column alone
  std::string debug_str_;
  std::unordered_map<std::string_view, uint64_t> debug_str_labels_;
};

}  // namespace vgpu::ptx
