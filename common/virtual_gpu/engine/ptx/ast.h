// What the parser makes of a PTX module. Registers are resolved to indices (inner `.reg` scopes included),
// so that later stages never look a name up again; every instruction keeps its place in the student's source.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace vgpu::ptx {

// A malformed module: says what was expected and at which PTX line.
struct ParseError : std::runtime_error {
  ParseError(int line, const std::string& what)
      : std::runtime_error("PTX line " + std::to_string(line) + ": " + what), ptx_line(line) {}
  int ptx_line;
};

enum class TypeClass : uint8_t { kBits, kUnsigned, kSigned, kFloat, kPred };

// A scalar type such as .f32 or .b16; bf16, tf32, f16x2 and friends only occur inside opcode names.
struct Type {
  TypeClass cls = TypeClass::kBits;
  uint8_t bits = 32;  // 1 for predicates
  int bytes() const { return bits / 8; }
};

enum class Space : uint8_t { kGeneric, kGlobal, kShared, kLocal, kConst, kParam };

enum class OperandKind : uint8_t {
  kReg,      // reg; `negated` for !%p
  kInt,      // value: integer immediate, two's complement in 64 bits
  kFloat32,  // value: the bits of a 0f… immediate
  kFloat64,  // value: the bits of a 0d… or decimal immediate
  kSpecial,  // name: "%tid.x", "%laneid", "WARP_SZ", …
  kSymbol,   // name (+ value as offset): a variable, a parameter, a function or a label
  kAddress,  // [base + value]: base is `reg` when reg >= 0, else `name`, else an absolute address;
             // items: what follows a comma inside the brackets (tensor and texture coordinates)
  kVector,   // items: {%r1, %r2, _}
  kPair,     // items: %p|%q (and the lane mask form %r|%p)
  kSink,     // _
};

struct Operand {
  OperandKind kind = OperandKind::kSink;
  bool negated = false;
  int reg = -1;        // index into Function::regs
  uint64_t value = 0;  // immediate, or byte offset of an address or symbol
  std::string name;
  std::vector<Operand> items;
};

// Where an instruction came from: .loc with its inlined_at chain. Index 0 of Module::locs means "unknown".
struct Loc {
  int file = 0;  // .file index
  int line = 0;
  int column = 0;
  int inlined_at = 0;         // index into Module::locs of the call site, 0 when not inlined
  std::string function_name;  // mangled name of the inlined function, empty when not inlined
};

struct Call {
  std::vector<std::string> returns;    // names of .param variables
  std::vector<std::string> arguments;  // names of .param variables (registers are refused)
  std::string prototype;               // label of a .callprototype, for indirect calls
};

struct Instruction {
  std::string opcode;  // with all its modifiers: "ld.global.nc.v4.f32"
  std::vector<Operand> operands;
  int guard = -1;  // predicate register of @%p, -1 without
  bool guard_negated = false;
  int ptx_line = 0;
  int loc = 0;    // index into Module::locs
  int call = -1;  // index into Function::calls, for call instructions (operand 0 is the callee)
};

// A variable of any space: module scope, function scope, or a parameter.
struct Relocation {
  uint64_t offset = 0;  // where in `init` the 8-byte address goes
  std::string symbol;
  int64_t addend = 0;
  bool generic = false;  // written as generic(symbol)
};

struct Variable {
  std::string name;
  Space space = Space::kGlobal;
  Type type;
  uint64_t align = 1;
  uint64_t bytes = 0;  // whole size; 0 for `.extern .shared x[]`
  bool is_extern = false;
  bool is_managed = false;    // .attribute(.managed)
  std::vector<uint8_t> init;  // empty when there is no initialiser; else exactly `bytes` long
  std::vector<Relocation> relocations;
};

struct Register {
  std::string name;
  Type type;
};

struct Label {
  std::string name;
  int instruction = 0;  // index of the instruction the label stands before (may equal body.size())
};

struct BranchTargets {
  std::string name;
  std::vector<std::string> labels;
};

struct CallPrototype {
  std::string name;
  std::vector<Variable> returns, params;
};

struct Function {
  std::string name;
  bool is_entry = false;
  bool is_declaration = false;
  bool is_noreturn = false;
  std::vector<Variable> params;   // in order
  std::vector<Variable> returns;  // of a .func
  std::vector<Register> regs;     // those that some instruction names, in order of first use
  std::vector<Variable>
      variables;  // function-scope .local, .shared and (call) .param variables, unique names
  std::vector<Instruction> body;
  std::vector<Label> labels;
  std::vector<BranchTargets> branch_targets;
  std::vector<CallPrototype> prototypes;
  std::vector<Call> calls;
  int max_threads = 0;  // product of .maxntid, 0 when absent
  int required_threads[3] = {0, 0, 0};
  int required_cluster[3] = {0, 0, 0};  // .reqnctapercluster, blocks; all 0 when absent
  int max_cluster = 0;                  // .maxclusterrank, 0 when absent
  bool needs_cluster = false;           // .explicitcluster
  int min_blocks = 0;
  int max_registers = 0;
  int ptx_line = 0;
  int loc = 0;
};

struct Module {
  int version_major = 0, version_minor = 0;
  std::string target;              // "sm_90"
  std::vector<std::string> files;  // index = .file number (0 unused)
  std::vector<Loc> locs;           // [0] is "unknown"
  std::vector<Variable> variables;
  std::vector<Function> functions;  // definitions, and declarations that are never defined (vprintf, …)
};

// Throws ParseError. Never crashes or hangs on any input.
Module parse(const std::string& text);

}  // namespace vgpu::ptx
