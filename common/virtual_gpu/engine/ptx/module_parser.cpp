#include "module_parser.h"

#include <charconv>
#include <unordered_set>

#include "declarations.h"
#include "initialisers.h"

namespace vgpu::ptx {
namespace {

bool is_linkage(const Token& token) {
  return token.is_directive(".visible") || token.is_directive(".extern") || token.is_directive(".weak") ||
         token.is_directive(".common");
}

bool branches(const Instruction& instruction) {
  return instruction.opcode.starts_with("bra") || instruction.opcode.starts_with("brx");
}

}  // namespace

Module ModuleParser::parse() {
  if (!tokens_.peek().is_directive(".version"))
    tokens_.fail_expected("'.version' at the start of the module");
  parse_version();
  while (!tokens_.at_end()) parse_statement();
  if (module_.target.empty()) tokens_.fail_expected("a '.target' directive");
  locations_.resolve_function_names();
  resolve_aliases();
  return std::move(module_);
}

void ModuleParser::parse_statement() {
  const Token& token = tokens_.peek();
  if (token.kind != TokenKind::kDirective) tokens_.fail_expected("a directive such as .entry or .global");
  if (token.text == ".target") return parse_target();
  if (token.text == ".address_size") return parse_address_size();
  if (token.text == ".file") return locations_.parse_file(tokens_);
  if (token.text == ".section") return locations_.parse_section(tokens_);
  if (token.text == ".alias") return parse_alias();
  if (token.text == ".pragma") {
    tokens_.take();
    tokens_.expect_string("the text of the pragma in quotes");
    return tokens_.expect(';', "after .pragma");
  }
  parse_linked();
}

void ModuleParser::parse_version() {
  tokens_.take();
  const Token version = tokens_.peek();
  const char* const end = version.text.data() + version.text.size();
  const auto major = std::from_chars(version.text.data(), end, module_.version_major);
  if (version.kind != TokenKind::kFloat64 || major.ec != std::errc() || major.ptr == end ||
      *major.ptr != '.') {
    tokens_.fail_expected("a version such as 9.0");
  }
  const auto minor = std::from_chars(major.ptr + 1, end, module_.version_minor);
  if (minor.ec != std::errc() || minor.ptr != end) tokens_.fail_expected("a version such as 9.0");
  tokens_.take();
}

void ModuleParser::parse_target() {
  tokens_.take();
  do {
    const Token name = tokens_.expect_word("a target such as sm_90");
    if (name.text.starts_with("sm_")) module_.target = name.text;
  } while (tokens_.accept(','));
  if (module_.target.empty()) tokens_.fail_expected("a target such as sm_90 before");
}

void ModuleParser::parse_address_size() {
  tokens_.take();
  const int line = tokens_.line();
  if (tokens_.expect_count(UINT32_MAX, "an address size in bits") != 64) {
    throw ParseError(line, "only '.address_size 64' is supported");
  }
}

void ModuleParser::parse_linked() {
  bool is_extern = false;
  is_shared_ = is_weak_ = false;
  DeclarationHead attributes;  // `.visible .attribute(.managed) .global …`
  while (true) {
    if (is_linkage(tokens_.peek())) {
      const std::string_view word = tokens_.take().text;
      is_extern |= word == ".extern";
      is_shared_ = true;
      is_weak_ |= word == ".weak" || word == ".common";
    } else if (tokens_.peek().is_directive(".attribute")) {
      parse_attribute(tokens_, attributes);
    } else {
      break;
    }
  }
  const Token& token = tokens_.peek();
  if (token.is_directive(".entry") || token.is_directive(".func")) return parse_function();
  const Space* space = token.kind == TokenKind::kDirective ? find_space(token.text) : nullptr;
  if (space == nullptr) {
    tokens_.fail_expected("a module statement (.entry, .func, .global, .const, .shared, .file, .section, …)");
  }
  if (*space == Space::kLocal || *space == Space::kParam) {
    throw ParseError(token.line, in_quotes(token.text) + " variables at module scope are not supported");
  }
  parse_variables(*space, is_extern, attributes.is_managed);
}

void ModuleParser::note_linkage(std::string_view name) {
  if (is_shared_) linkage_.shared.emplace(name);
  if (is_weak_) linkage_.weak.emplace(name);
}

void ModuleParser::parse_variables(Space space, bool is_extern, bool is_managed) {
  tokens_.take();
  DeclarationHead head = parse_declaration_head(tokens_, space);
  head.is_managed |= is_managed;
  do {
    const Declarator declarator = parse_declarator(tokens_, head);
    Variable declared = make_variable(head, declarator);
    declared.is_extern = is_extern;
    const int index = declare_variable(std::move(declared), declarator.name, declarator.line);
    Variable& variable = module_.variables[index];
    if (tokens_.peek().is('=')) {
      if (is_extern || space == Space::kShared) {
        throw ParseError(tokens_.line(), (is_extern ? "an .extern" : "a .shared") +
                                             std::string(" variable cannot have an initial value"));
      }
      tokens_.take();
      parse_initialiser(tokens_, declarator, symbols_, variable, initialised_bytes_);
    }
    if (variable.bytes == 0 && !is_extern) {
      throw ParseError(declarator.line,
                       "array " + in_quotes(declarator.name) + " needs a size or initial values");
    }
  } while (tokens_.accept(','));
  tokens_.expect(';', "after the variable");
}

// An .extern declaration and the definition it announces are one variable.
int ModuleParser::declare_variable(Variable variable, std::string_view name, int line) {
  note_linkage(name);
  const auto [entry, is_new] = symbols_.try_emplace(
      name, ModuleSymbol{SymbolKind::kVariable, static_cast<int>(module_.variables.size())});
  const int index = entry->second.index;
  if (is_new) {
    module_.variables.push_back(std::move(variable));
    return index;
  }
  if (entry->second.kind != SymbolKind::kVariable) {
    throw ParseError(line, in_quotes(name) + " is already the name of a function");
  }
  Variable& known = module_.variables[index];
  if (!known.is_extern && !variable.is_extern) {
    throw ParseError(line, "variable " + in_quotes(name) + " is defined twice");
  }
  if (known.space != variable.space) {
    throw ParseError(line, "variable " + in_quotes(name) + " is declared in two state spaces");
  }
  if (known.is_extern) known = std::move(variable);
  return index;
}

void ModuleParser::parse_alias() {
  tokens_.take();
  const Token name = tokens_.expect_name("the name of a function");
  tokens_.expect(',', "between the alias and its function");
  const Token target = tokens_.expect_word("the name of a function");
  tokens_.expect(';', "after .alias");
  for (const Token& word : {name, target}) {
    const ModuleSymbol* symbol = find_symbol(symbols_, word.text);
    if (symbol == nullptr || symbol->kind != SymbolKind::kFunction) {
      throw ParseError(word.line, "expected a function declared above .alias, found " + in_quotes(word.text));
    }
  }
  if (!aliases_.try_emplace(name.text, Alias{target.text, name.line}).second) {
    throw ParseError(name.line, in_quotes(name.text) + " is an alias already");
  }
}

// Uses of an alias become uses of the function it stands for, and the alias itself disappears.
void ModuleParser::resolve_aliases() {
  if (aliases_.empty()) return;
  for (const auto& [name, alias] : aliases_) {
    if (module_.functions[find_symbol(symbols_, alias.target)->index].is_declaration) {
      throw ParseError(alias.line, "alias " + in_quotes(name) +
                                       " needs a function defined in this module, but " +
                                       in_quotes(alias.target) + " is only declared");
    }
    if (!module_.functions[find_symbol(symbols_, name)->index].is_declaration) {
      throw ParseError(alias.line, "alias " + in_quotes(name) + " is itself defined as a function");
    }
  }
  for (Function& function : module_.functions) rename_aliases(function);
  for (Variable& variable : module_.variables) {
    for (Relocation& relocation : variable.relocations) {
      const auto alias = aliases_.find(relocation.symbol);
      if (alias != aliases_.end()) relocation.symbol = alias->second.target;
    }
  }
  std::erase_if(module_.functions,
                [this](const Function& function) { return aliases_.contains(function.name); });
}

void ModuleParser::rename_aliases(Function& function) const {
  std::unordered_set<std::string_view> hidden;  // by a parameter of the same name
  for (const Variable& parameter : function.params) {
    if (aliases_.contains(parameter.name)) hidden.insert(parameter.name);
  }
  for (Instruction& instruction : function.body) {
    if (branches(instruction)) continue;  // its names are labels
    for (Operand& operand : instruction.operands) {
      if (operand.kind != OperandKind::kSymbol) continue;
      const auto alias = aliases_.find(operand.name);
      if (alias != aliases_.end() && !hidden.contains(operand.name)) operand.name = alias->second.target;
    }
  }
}

}  // namespace vgpu::ptx
