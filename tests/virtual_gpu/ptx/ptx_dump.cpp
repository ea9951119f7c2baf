// Shows what the PTX parser makes of a module.
//   ptx_dump          one module on stdin; prints it as JSON, or the ParseError on stderr with exit status 1
//   ptx_dump --many   many modules on stdin, each preceded by its length in bytes and a newline; prints one
//   line
//                     for each: "module", or the ParseError. One process for all keeps fuzzing fast.
//   ptx_dump --time N one module on stdin; prints the milliseconds of the fastest of N parses
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

#include "ast.h"

namespace {

using namespace vgpu::ptx;

constexpr const char* kTypeClasses[] = {"b", "u", "s", "f", "pred"};
constexpr const char* kSpaces[] = {"generic", "global", "shared", "local", "const", "param"};
constexpr const char* kOperandKinds[] = {"reg",    "int",     "float32", "float64", "special",
                                         "symbol", "address", "vector",  "pair",    "sink"};

// Writes JSON with the punctuation of lists and objects handled in one place.
class Json {
 public:
  void open(char bracket) {
    separate();
    out_ += bracket;
    first_ = true;
  }
  void close(char bracket) {
    out_ += bracket;
    first_ = false;
  }
  void key(std::string_view name) {
    string(name);
    out_ += ':';
    first_ = true;
  }
  void string(std::string_view text) {
    separate();
    out_ += '"';
    for (char c : text) {
      if (c == '"' || c == '\\') out_ += '\\';
      if (static_cast<unsigned char>(c) < ' ') {
        char escaped[8];
        std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
        out_ += escaped;
      } else {
        out_ += c;
      }
    }
    out_ += '"';
  }
  template <typename Number>
  void number(Number value) {
    separate();
    out_ += std::to_string(value);
  }
  void member(std::string_view name, std::string_view text) { key(name), string(text); }
  template <typename Number>
  void count(std::string_view name, Number value) {
    key(name), number(value);
  }
  template <typename List, typename Write>
  void list(std::string_view name, const List& items, Write write) {
    key(name);
    open('[');
    for (const auto& item : items) write(*this, item);
    close(']');
  }
  const std::string& text() const { return out_; }

 private:
  void separate() {
    if (!first_) out_ += ',';
    first_ = false;
  }
  std::string out_;
  bool first_ = true;
};

std::string type_name(const Type& type) {
  std::string name = kTypeClasses[static_cast<int>(type.cls)];
  return type.cls == TypeClass::kPred ? name : name + std::to_string(type.bits);
}

void write_name(Json& json, const std::string& name) {
  json.string(name);
}

void write_operand(Json& json, const Operand& operand) {
  json.open('{');
  json.member("kind", kOperandKinds[static_cast<int>(operand.kind)]);
  if (operand.negated) json.count("negated", 1);
  if (operand.reg >= 0) json.count("reg", operand.reg);
  if (operand.value != 0) json.count("value", operand.value);
  if (!operand.name.empty()) json.member("name", operand.name);
  if (!operand.items.empty()) json.list("items", operand.items, write_operand);
  json.close('}');
}

void write_instruction(Json& json, const Instruction& instruction) {
  json.open('{');
  json.member("opcode", instruction.opcode);
  json.list("operands", instruction.operands, write_operand);
  if (instruction.guard >= 0) json.count("guard", instruction.guard);
  if (instruction.guard_negated) json.count("guard_negated", 1);
  json.count("ptx_line", instruction.ptx_line);
  json.count("loc", instruction.loc);
  if (instruction.call >= 0) json.count("call", instruction.call);
  json.close('}');
}

void write_relocation(Json& json, const Relocation& relocation) {
  json.open('{');
  json.count("offset", relocation.offset);
  json.member("symbol", relocation.symbol);
  json.count("addend", relocation.addend);
  json.count("generic", int{relocation.generic});
  json.close('}');
}

void write_variable(Json& json, const Variable& variable) {
  json.open('{');
  json.member("name", variable.name);
  json.member("space", kSpaces[static_cast<int>(variable.space)]);
  json.member("type", type_name(variable.type));
  json.count("align", variable.align);
  json.count("bytes", variable.bytes);
  if (variable.is_extern) json.count("extern", 1);
  if (variable.is_managed) json.count("managed", 1);
  if (!variable.init.empty()) {
    json.list("init", variable.init, [](Json& j, uint8_t byte) { j.number(int{byte}); });
  }
  if (!variable.relocations.empty()) json.list("relocations", variable.relocations, write_relocation);
  json.close('}');
}

void write_function(Json& json, const Function& function) {
  json.open('{');
  json.member("name", function.name);
  json.count("entry", int{function.is_entry});
  json.count("declaration", int{function.is_declaration});
  json.count("noreturn", int{function.is_noreturn});
  json.list("params", function.params, write_variable);
  json.list("returns", function.returns, write_variable);
  json.list("variables", function.variables, write_variable);
  json.list("regs", function.regs,
            [](Json& j, const Register& reg) { j.string(reg.name + " " + type_name(reg.type)); });
  json.list("body", function.body, write_instruction);
  json.key("labels");
  json.open('{');
  for (const Label& label : function.labels) json.count(label.name, label.instruction);
  json.close('}');
  json.key("branch_targets");
  json.open('{');
  for (const BranchTargets& targets : function.branch_targets)
    json.list(targets.name, targets.labels, write_name);
  json.close('}');
  json.list("prototypes", function.prototypes, [](Json& j, const CallPrototype& prototype) {
    j.open('{');
    j.member("name", prototype.name);
    j.list("returns", prototype.returns, write_variable);
    j.list("params", prototype.params, write_variable);
    j.close('}');
  });
  json.list("calls", function.calls, [](Json& j, const Call& call) {
    j.open('{');
    j.list("returns", call.returns, write_name);
    j.list("arguments", call.arguments, write_name);
    j.member("prototype", call.prototype);
    j.close('}');
  });
  const auto write_int = [](Json& j, int value) { j.number(value); };
  json.count("max_threads", function.max_threads);
  json.list("required_threads", function.required_threads, write_int);
  json.list("required_cluster", function.required_cluster, write_int);
  json.count("min_blocks", function.min_blocks);
  json.count("max_registers", function.max_registers);
  json.count("ptx_line", function.ptx_line);
  json.count("loc", function.loc);
  json.close('}');
}

std::string dump(const Module& module) {
  Json json;
  json.open('{');
  json.count("version_major", module.version_major);
  json.count("version_minor", module.version_minor);
  json.member("target", module.target);
  json.list("files", module.files, write_name);
  json.list("locs", module.locs, [](Json& j, const Loc& loc) {
    j.open('{');
    j.count("file", loc.file);
    j.count("line", loc.line);
    j.count("column", loc.column);
    j.count("inlined_at", loc.inlined_at);
    j.member("function", loc.function_name);
    j.close('}');
  });
  json.list("variables", module.variables, write_variable);
  json.list("functions", module.functions, write_function);
  json.close('}');
  return json.text();
}

int dump_one(const std::string& text) {
  try {
    std::puts(dump(parse(text)).c_str());
    return 0;
  } catch (const ParseError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

int judge_many(std::string_view input) {
  while (!input.empty()) {
    const size_t newline = input.find('\n');
    const size_t length = std::stoul(std::string(input.substr(0, newline)));
    const std::string text(input.substr(newline + 1, length));
    input.remove_prefix(newline + 1 + length);
    try {
      parse(text);
      std::puts("module");
    } catch (const ParseError& error) {
      std::puts(error.what());
    }
  }
  return 0;
}

int time_one(const std::string& text, int repeats) {
  double fastest = 1e30;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    parse(text);
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    fastest = std::min(fastest, elapsed.count());
  }
  std::printf("%.3f\n", fastest);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string input((std::istreambuf_iterator<char>(std::cin)), std::istreambuf_iterator<char>());
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "--many") return judge_many(input);
  if (mode == "--time" && argc > 2) return time_one(input, std::atoi(argv[2]));
  return dump_one(input);
}
