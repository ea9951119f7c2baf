// What a name and a colon can introduce inside a function: a label, the targets of an indirect branch, the
// prototype of an indirect call.
#include "declarations.h"
#include "function_body.h"

namespace vgpu::ptx {

void FunctionBody::parse_label() {
  const Token name = tokens_.expect_name("the name of a label");
  tokens_.expect(':', "after a label");
  const Token& next = tokens_.peek();
  if (next.is_directive(".branchtargets")) return parse_branch_targets(name);
  if (next.is_directive(".callprototype")) return parse_call_prototype(name);
  if (next.is_directive(".calltargets")) {
    throw ParseError(next.line, "'.calltargets' is not supported: describe the callee with '.callprototype'");
  }
  function_.labels.push_back({labels_.declare(name.text, LabelKind::kInstruction, name.line),
                              static_cast<int>(function_.body.size())});
}

void FunctionBody::parse_branch_targets(const Token& name) {
  tokens_.take();
  BranchTargets targets;
  targets.name = labels_.declare(name.text, LabelKind::kBranchTargets, name.line);
  const int index = static_cast<int>(function_.branch_targets.size());
  do {
    const Token label = tokens_.expect_word("a label");
    labels_.use_in_branch_targets(label.text, label.line, index, static_cast<int>(targets.labels.size()));
    targets.labels.emplace_back(label.text);
  } while (tokens_.accept(','));
  tokens_.expect(';', "after the branch targets");
  function_.branch_targets.push_back(std::move(targets));
}

// .callprototype (.param .b32 _) _ (.param .b64 _, .param .b32 _);
void FunctionBody::parse_call_prototype(const Token& name) {
  tokens_.take();
  CallPrototype prototype;
  prototype.name = labels_.declare(name.text, LabelKind::kPrototype, name.line);
  if (tokens_.peek().is('(')) prototype.returns = parse_parameter_list(tokens_);
  tokens_.expect_word("'_' in place of the function's name");
  if (tokens_.peek().is('(')) prototype.params = parse_parameter_list(tokens_);
  while (tokens_.peek().kind == TokenKind::kDirective) {
    const Token directive = tokens_.take();
    if (directive.text == ".abi_preserve" || directive.text == ".abi_preserve_control") {
      tokens_.expect_count(UINT32_MAX, "the number of registers to preserve");
    } else if (directive.text != ".noreturn") {
      throw ParseError(directive.line, "directive " + in_quotes(directive.text) +
                                           " is not supported in a call prototype; expected .noreturn");
    }
  }
  tokens_.expect(';', "after the call prototype");
  function_.prototypes.push_back(std::move(prototype));
}

}  // namespace vgpu::ptx
