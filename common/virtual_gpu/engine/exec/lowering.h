// From parsed PTX to ops. Operands are first "virtual slots"; once a function is whole, its control flow
// is analysed and slots get places in the register file.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "exec/async_detail.h"
#include "exec/module.h"

namespace vgpu {

// A value the register file holds for a function. Slot 0 is scratch: where unwanted results go.
struct VirtualSlot {
  enum class Kind : uint8_t { kScratch, kRegister, kConstant, kSpecial, kArea } kind = Kind::kRegister;
  uint8_t bytes = 4;  // per lane; 0 for a predicate
  uint64_t value = 0;
  Special special = Special::kTidX;
  uint32_t area_bytes = 0;  // kArea: a .param variable
};

struct TextureWay;

struct VirtualOp {
  Op op;  // dst, dst2, src, guard and list hold slot numbers
  std::vector<uint32_t> list;
  bool list_is_slots = true;
  std::vector<uint32_t> defs, uses;
  int loc = 0, ptx_line = 0;
  int instruction = 0;  // in the parsed body, for labels
  int parameter = -1;   // of the kernel's parameters, the byte where it reads; -1: none, or known only then
  std::string_view opcode;
};

// Raised inside lowering for an instruction or operand form that is not implemented.
struct NotImplemented {
  std::string what;
};

// Raised for an instruction that the architecture lacks which the program was built for.
struct NeedsArchitecture {
  std::string arch;
};

// Raised for a name that no file of the program defines.
struct NotDefined {
  std::string name;
};

class FunctionLowering {
 public:
  FunctionLowering(ModuleImage& module, KernelCode& kernel, int function);
  std::unique_ptr<Code> run();
  // Numbers the ops in the kernel and keeps where each came from.
  void record_origins(Code& code, KernelCode& kernel) const;
  void record_values(Code& code, const VirtualOp& v) const;

 private:
  using Handler = void (FunctionLowering::*)(const ptx::Instruction&);
  static const std::unordered_map<std::string_view, Handler>& handlers();

  // lowering.cpp: the driver and operands
  void note_parameter_address(const ptx::Instruction& in);
  void lower_instruction(const ptx::Instruction& in);
  void mark_unused_results();
  void mark_constant_stores();
  uint32_t reg_slot(int reg) const { return static_cast<uint32_t>(reg) + 1; }
  int reg_bytes(const ptx::Operand& o) const;  // of a register operand; 0 for a predicate
  uint32_t constant(uint64_t value, int bytes);
  uint32_t special(Special what, int bytes, uint64_t addend = 0);
  uint32_t shared_slot(const std::string& key, const VirtualSlot& slot);  // made once for each key
  uint32_t temporary(int bytes);
  uint32_t source(const ptx::Operand& o, int bytes, char type_class = 'b');
  uint32_t source_any(const ptx::Operand& o, int bytes);  // registers may be wider than `bytes`
  uint32_t predicate_source(const ptx::Operand& o);
  uint32_t destination(const ptx::Operand& o, int bytes);
  uint64_t immediate(const ptx::Operand& o) const;
  uint64_t symbol_address(const std::string& name, ptx::Space* space, bool* local) const;
  VirtualOp& emit(OpFn masked, OpFn full, InstrClass cls);
  VirtualOp& emit(OpFn fn, VirtualOp&& operands);  // of a detail that says where they are
  VirtualOp& emit_control(Control control, InstrClass cls);
  uint64_t address(const ptx::Operand& o, VirtualOp& v, ptx::Space space);

  // lower_table.cpp: everything that has a row in an opcode table
  bool try_table(const ptx::Instruction& in);
  bool fits(const ptx::Instruction& in, const OpForm& form) const;
  void lower_form(const ptx::Instruction& in, const OpForm& form);

  // lower_memory.cpp
  void lower_load(const ptx::Instruction& in);
  void lower_store(const ptx::Instruction& in);
  void lower_param_access(const ptx::Instruction& in, bool is_load, ptx::Type type, int vec);
  void lower_atomic(const ptx::Instruction& in);
  void lower_async(const ptx::Instruction& in);
  void lower_ldmatrix(const ptx::Instruction& in);
  void lower_stmatrix(const ptx::Instruction& in);
  void lower_wmma(const ptx::Instruction& in);
  void lower_cvta(const ptx::Instruction& in);
  void lower_isspacep(const ptx::Instruction& in);
  void lower_fence(const ptx::Instruction& in);
  void lower_ignored(const ptx::Instruction& in);
  void lower_createpolicy(const ptx::Instruction& in);

  // lower_texture.cpp
  void lower_texture(const ptx::Instruction& in);
  void lower_surface(const ptx::Instruction& in);
  void lower_texture_query(const ptx::Instruction& in);
  void emit_texture(OpFn fn, const ptx::Operand& from, const TextureWay& way,
                    const std::array<int, 3>& widths, const std::vector<uint32_t>& defs,
                    const std::vector<uint32_t>& values);

  // lower_mbarrier.cpp
  void require(std::string_view arch) const;
  Place place(const ptx::Operand& o, VirtualOp& v, int bytes);
  template <class Detail>
  const Detail* keep(Detail detail) {
    auto kept = std::make_shared<const Detail>(std::move(detail));
    kernel_.details.push_back(kept);
    return kept.get();
  }
  void lower_mbarrier(const ptx::Instruction& in);
  void lower_copy_arrive(const ptx::Instruction& in);
  bool lower_async_fence(const ptx::Instruction& in);

  // lower_bulk.cpp
  void lower_bulk(const ptx::Instruction& in);
  void lower_remote_store(const ptx::Instruction& in);

  // lower_tensor_map.cpp
  void lower_tensor_map(const ptx::Instruction& in);
  void lower_map_fence(const ptx::Instruction& in);

  // lower_wgmma.cpp
  void lower_wgmma(const ptx::Instruction& in);
  void lower_setmaxnreg(const ptx::Instruction& in);

  // lower_control.cpp
  void lower_branch(const ptx::Instruction& in);
  void lower_branch_index(const ptx::Instruction& in);
  void lower_call(const ptx::Instruction& in);
  void lower_return(const ptx::Instruction& in);
  void lower_exit(const ptx::Instruction& in);
  void lower_trap(const ptx::Instruction& in);
  void lower_barrier(const ptx::Instruction& in);
  void lower_cluster_barrier(const ptx::Instruction& in);
  void lower_cluster_address(const ptx::Instruction& in);
  void lower_warp_sync(const ptx::Instruction& in);
  void lower_activemask(const ptx::Instruction& in);
  void lower_nanosleep(const ptx::Instruction& in);
  void jump_over_when_guarded();
  uint32_t param_slot(const std::string& name);
  ParamArea area(const std::string& name);

  // layout.cpp
  void build_blocks(Code& code);
  void assign_slots(Code& code);
  void post_dominators(Code& code) const;

  ModuleImage& module_;
  KernelCode& kernel_;
  const ptx::Function& fn_;
  std::unique_ptr<Code> code_;
  std::vector<VirtualSlot> slots_;
  std::vector<VirtualOp> ops_;
  std::vector<int> first_op_;  // per instruction: its first op
  std::unordered_map<std::string, uint32_t> constants_;
  std::unordered_map<std::string, uint32_t> areas_;         // .param variable -> slot
  std::unordered_map<std::string, uint32_t> local_offset_;  // .local variable -> offset in the frame
  std::unordered_map<std::string, int> label_;              // label -> instruction
  std::unordered_map<std::string, uint32_t> entry_param_;   // kernel parameter -> offset
  std::unordered_map<int, uint64_t> parameter_address_;     // register -> offset that it holds
  int current_ = 0;
  uint32_t guard_ = 0;  // slot of the guard of the instruction at hand
  bool guard_negated_ = false;
  uint32_t carry_ = 0;  // slot of the condition code
};

// Successors of a basic block, the fall-through one first.
std::vector<uint32_t> successors(const Code& code, uint32_t block);
const OpForm* find_form(std::string_view name);
std::vector<std::string_view> split_opcode(std::string_view opcode);
bool parse_type(std::string_view token, ptx::Type* type);
// The opcode with its modifiers in one order, types as they stand: ptxas takes modifiers in any.
std::string canonical_opcode(std::string_view opcode);

}  // namespace vgpu
