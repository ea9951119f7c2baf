// .entry and .func: name, parameters, performance directives, and the merging of declarations with
// definitions.
#include <algorithm>
#include <climits>

#include "declarations.h"
#include "function_body.h"
#include "module_parser.h"

namespace vgpu::ptx {
namespace {

struct FunctionDirective {
  std::string_view name;
  int fewest, most;  // integers that follow it
  void (*apply)(Function&, const int (&values)[3], int line);
};

void ignore(Function&, const int (&)[3], int) {}

void set_max_threads(Function& function, const int (&values)[3], int line) {
  const __int128 product = static_cast<__int128>(values[0]) * values[1] * values[2];
  if (product > INT_MAX) throw ParseError(line, ".maxntid names more threads than fit in 31 bits");
  function.max_threads = static_cast<int>(product);
}

void set_required_threads(Function& function, const int (&values)[3], int) {
  std::copy(values, values + 3, function.required_threads);
}

void set_required_cluster(Function& function, const int (&values)[3], int) {
  std::copy(values, values + 3, function.required_cluster);
}

void set_max_registers(Function& function, const int (&values)[3], int line) {
  if (values[0] == 0) throw ParseError(line, ".maxnreg names 0 registers: a thread needs some");
  function.max_registers = values[0];
}

// What ptxas takes no two of.
void refuse_contradictions(const Function& function, int line) {
  if (function.max_threads > 0 && function.required_threads[0] > 0)
    throw ParseError(line, ".maxntid and .reqntid are not used together: keep one of them");
  if (function.max_cluster > 0 && function.required_cluster[0] > 0)
    throw ParseError(line, ".maxclusterrank and .reqnctapercluster are not used together: keep one of them");
}

constexpr FunctionDirective kFunctionDirectives[] = {
    {".maxntid", 1, 3, set_max_threads},
    {".reqntid", 1, 3, set_required_threads},
    {".minnctapersm", 1, 1, [](Function& f, const int (&v)[3], int) { f.min_blocks = v[0]; }},
    {".maxnctapersm", 1, 1, ignore},
    {".maxnreg", 1, 1, set_max_registers},
    {".noreturn", 0, 0, [](Function& f, const int (&)[3], int) { f.is_noreturn = true; }},
    {".reqnctapercluster", 1, 3, set_required_cluster},
    {".maxclusterrank", 1, 1, [](Function& f, const int (&v)[3], int) { f.max_cluster = v[0]; }},
    {".explicitcluster", 0, 0, [](Function& f, const int (&)[3], int) { f.needs_cluster = true; }},
    {".blocksareclusters", 0, 0, ignore},
    {".abi_preserve", 1, 1, ignore},
    {".abi_preserve_control", 1, 1, ignore},
};

bool same_layout(const std::vector<Variable>& a, const std::vector<Variable>& b) {
  return std::ranges::equal(a, b, {}, &Variable::bytes, &Variable::bytes);
}

}  // namespace

void ModuleParser::refuse_large_parameters(const Function& function) {
  const bool is_new = std::pair(module_.version_major, module_.version_minor) >= std::pair(8, 1);
  const int64_t most = is_new ? 32764 : 4352;
  int64_t bytes = 0;
  for (const Variable& parameter : function.params) {
    const auto align = static_cast<int64_t>(parameter.align);
    bytes = (bytes + align - 1) / align * align + static_cast<int64_t>(parameter.bytes);
  }
  if (bytes > most)
    throw ParseError(function.ptx_line, "kernel " + in_quotes(function.name) + " has " +
                                            std::to_string(bytes) + " bytes of parameters, and may have " +
                                            std::to_string(most));
}

void ModuleParser::parse_function() {
  Function header;
  header.is_entry = tokens_.take().text == ".entry";
  header.is_declaration = true;
  header.ptx_line = tokens_.line();
  DeclarationHead attributes;
  if (tokens_.peek().is_directive(".attribute")) parse_attribute(tokens_, attributes);
  if (tokens_.peek().is('(')) {
    if (header.is_entry) throw ParseError(tokens_.line(), "an .entry function returns nothing");
    header.returns = parse_parameter_list(tokens_);
  }
  const Token name = tokens_.expect_name("the name of a function");
  header.name = name.text;
  if (tokens_.peek().is('(')) header.params = parse_parameter_list(tokens_);
  parse_function_directives(header);
  if (header.is_entry) refuse_large_parameters(header);

  const int index = declare_function(std::move(header), name.text);
  if (tokens_.accept(';')) return;
  Function& function = module_.functions[index];
  if (!function.is_declaration)
    throw ParseError(name.line, "function " + in_quotes(name.text) + " is defined twice");
  FunctionBody(tokens_, module_, symbols_, locations_, function).parse();
  function.is_declaration = false;
}

void ModuleParser::parse_function_directives(Function& function) {
  while (tokens_.peek().kind == TokenKind::kDirective) {
    const Token directive = tokens_.take();
    if (directive.text == ".pragma") {
      tokens_.expect_string("the text of the pragma in quotes");
      tokens_.expect(';', "after .pragma");
      continue;
    }
    const auto* known = std::ranges::find(kFunctionDirectives, directive.text, &FunctionDirective::name);
    if (known == std::end(kFunctionDirectives)) {
      throw ParseError(directive.line, "directive " + in_quotes(directive.text) +
                                           " is not supported on a function; expected .maxntid, .reqntid, "
                                           ".minnctapersm, .maxnreg, … or the function's body");
    }
    int values[3] = {1, 1, 1};
    for (int i = 0; i < known->most; ++i) {
      if (i >= known->fewest && !tokens_.peek().is(',')) break;
      if (i > 0) tokens_.expect(',', "between the values of a directive");
      values[i] = static_cast<int>(tokens_.expect_count(INT_MAX, "the value of a directive"));
    }
    known->apply(function, values, directive.line);
  }
  refuse_contradictions(function, tokens_.line());
}

// A definition takes the place of the declarations before it, so that indices and order stay as first seen.
int ModuleParser::declare_function(Function header, std::string_view name) {
  const int line = header.ptx_line;
  note_linkage(name);
  const auto [entry, is_new] = symbols_.try_emplace(
      name, ModuleSymbol{SymbolKind::kFunction, static_cast<int>(module_.functions.size())});
  const int index = entry->second.index;
  if (is_new) {
    module_.functions.push_back(std::move(header));
    return index;
  }
  if (entry->second.kind != SymbolKind::kFunction) {
    throw ParseError(line, in_quotes(name) + " is already the name of a variable");
  }
  Function& known = module_.functions[index];
  if (known.is_entry != header.is_entry || !same_layout(known.params, header.params) ||
      !same_layout(known.returns, header.returns)) {
    throw ParseError(line, "function " + in_quotes(name) + " does not match its declaration at PTX line " +
                               std::to_string(known.ptx_line));
  }
  if (known.is_declaration) {
    header.is_noreturn |= known.is_noreturn;
    known = std::move(header);
  }
  return index;
}

}  // namespace vgpu::ptx
