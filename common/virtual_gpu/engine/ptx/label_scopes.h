// Labels inside one function. A label is visible in its own { } scope and those inside it; sibling scopes
// (the same inline assembly, twice) may use a name again.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ast.h"

namespace vgpu::ptx {

enum class LabelKind : uint8_t { kInstruction, kBranchTargets, kPrototype };

// Labels may be used before they are declared, so uses wait until the scope that declares them closes.
class LabelScopes {
 public:
  explicit LabelScopes(Function& function) : function_(function) { open(); }

  void open();
  void close();
  // Closes the function's own scope; what is still undeclared is an error.
  void finish();

  // Returns the name unique in the function (`L`, then `L#2`).
  std::string declare(std::string_view name, LabelKind kind, int line);

  // Where a label is named, so that its unique name can be written there later.
  void use_in_operand(std::string_view name, LabelKind kind, int line, int instruction, int operand);
  void use_in_branch_targets(std::string_view name, int line, int targets, int position);
  void use_in_call(std::string_view name, int line, int call);

 private:
  enum class Place : uint8_t { kOperand, kBranchTargets, kCall };
  struct Use {
    std::string_view name;
    LabelKind kind;
    Place place;
    int line, first, second;
  };
  struct Declared {
    std::string_view name;
    LabelKind kind;
    int line;
    std::string unique_name;
  };
  struct Scope {
    size_t first_use, first_declared;
  };

  void resolve(const Use& use, const Declared& declared);

  Function& function_;
  std::vector<Scope> scopes_;
  std::vector<Use> uses_;
  std::vector<Declared> declared_;
  std::unordered_map<std::string_view, int> name_counts_;
};

}  // namespace vgpu::ptx
