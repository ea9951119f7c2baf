#include "label_scopes.h"

#include "lexer.h"

namespace vgpu::ptx {
namespace {

const char* describe(LabelKind kind) {
  switch (kind) {
    case LabelKind::kInstruction:
      return "a label";
    case LabelKind::kBranchTargets:
      return "a .branchtargets list";
    default:
      return "a .callprototype";
  }
}

}  // namespace

void LabelScopes::open() {
  scopes_.push_back({uses_.size(), declared_.size()});
}

std::string LabelScopes::declare(std::string_view name, LabelKind kind, int line) {
  const int count = ++name_counts_[name];
  std::string unique_name(name);
  if (count > 1) unique_name += "#" + std::to_string(count);
  declared_.push_back({name, kind, line, unique_name});
  return unique_name;
}

void LabelScopes::use_in_operand(std::string_view name, LabelKind kind, int line, int instruction,
                                 int operand) {
  uses_.push_back({name, kind, Place::kOperand, line, instruction, operand});
}

void LabelScopes::use_in_branch_targets(std::string_view name, int line, int targets, int position) {
  uses_.push_back({name, LabelKind::kInstruction, Place::kBranchTargets, line, targets, position});
}

void LabelScopes::use_in_call(std::string_view name, int line, int call) {
  uses_.push_back({name, LabelKind::kPrototype, Place::kCall, line, call, 0});
}

void LabelScopes::resolve(const Use& use, const Declared& declared) {
  if (use.kind != declared.kind) {
    throw ParseError(use.line, "expected " + std::string(describe(use.kind)) + ", but " +
                                   in_quotes(use.name) + " is " + describe(declared.kind));
  }
  switch (use.place) {
    case Place::kOperand:
      function_.body[use.first].operands[use.second].name = declared.unique_name;
      break;
    case Place::kBranchTargets:
      function_.branch_targets[use.first].labels[use.second] = declared.unique_name;
      break;
    case Place::kCall:
      function_.calls[use.first].prototype = declared.unique_name;
      break;
  }
}

void LabelScopes::close() {
  const Scope scope = scopes_.back();
  scopes_.pop_back();
  if (declared_.size() == scope.first_declared) return;  // the uses wait for an outer scope

  std::unordered_map<std::string_view, const Declared*> here;
  for (size_t i = scope.first_declared; i < declared_.size(); ++i) {
    const Declared& declared = declared_[i];
    if (!here.try_emplace(declared.name, &declared).second) {
      throw ParseError(declared.line,
                       "label " + in_quotes(declared.name) + " is declared twice in the same scope");
    }
  }
  size_t kept = scope.first_use;
  for (size_t i = scope.first_use; i < uses_.size(); ++i) {
    const auto found = here.find(uses_[i].name);
    if (found == here.end()) {
      uses_[kept++] = uses_[i];
    } else {
      resolve(uses_[i], *found->second);
    }
  }
  uses_.resize(kept);
  declared_.resize(scope.first_declared);
}

void LabelScopes::finish() {
  close();
  if (uses_.empty()) return;
  const Use& use = uses_.front();
  throw ParseError(use.line, "expected " + std::string(describe(use.kind)) + ", but nothing named " +
                                 in_quotes(use.name) + " is declared in this scope or around it");
}

}  // namespace vgpu::ptx
