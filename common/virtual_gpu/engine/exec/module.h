// A module as the execution core keeps it: the parsed text, where its variables lie, and for each kernel
// the lowered code of everything it can reach.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "exec/code.h"
#include "exec/launch.h"
#include "ptx/ast.h"

namespace vgpu {

// Generic addresses of the spaces that are not device memory; far from the arenas and from host pointers.
constexpr uint64_t kSharedWindow = 0x0007000000000000ull;
constexpr uint64_t kLocalWindow = 0x0006000000000000ull;
constexpr uint64_t kParamWindow = 0x0005000000000000ull;
constexpr uint64_t kFunctionBase = 0x0004000000000000ull;  // "addresses" of functions, 16 bytes apart
constexpr uint64_t kWindowBytes = 1ull << 32;

// Shared memory starts where it does on sm_90 (the first KiB belongs to the system). Neighbours are kept
// apart by a multiple of the bank cycle, so that an overrun is seen and bank conflicts stay as they are.
constexpr uint32_t kSharedBegin = 1024;
constexpr uint32_t kSharedGuard = 128;

// An instruction the engine does not run: an error when a kernel that can reach it is launched.
struct Unsupported {
  std::string what;
  int loc = 0;
  int ptx_line = 0;
  bool undefined = false;  // a name that the program does not define; else what the virtual GPU lacks
  std::string needs{};     // … or the architecture that the program was not built for
};

// A part of the shared window that accesses may touch: one variable, or the dynamic part.
struct SharedRegion {
  uint32_t begin, end;
  std::string name;
};

struct KernelPlan;
struct GuardedOp;

struct OpOrigin {
  int loc = 0;
  int ptx_line = 0;
  std::string_view opcode;
  int parameter = -1;  // VirtualOp::parameter
};

struct KernelCode {
  KernelInfo info;
  int function = -1;
  bool lowered = false;
  std::vector<std::unique_ptr<Code>> codes;  // by function index; null when not reachable
  CodeTraits traits;
  std::vector<Unsupported> unsupported;
  std::vector<SharedRegion> shared;  // static variables
  std::unordered_map<std::string, uint32_t> shared_offset;
  uint32_t dynamic_begin = kSharedBegin;  // where `extern __shared__` starts
  std::vector<OpOrigin> origins;          // by Op::index
  std::vector<uint8_t> flag_use;          // FlagUse bits, by Op::index
  uint32_t block_count = 0;               // basic blocks of all codes
  bool blocks_collide = false;            // they did once: side by side their work would be thrown away
  int required_cluster[3] = {0, 0, 0};    // blocks; all 0: what the launch says
  int max_cluster = 0;                    // blocks, from __launch_bounds__; 0: none
  bool needs_cluster = false;             // it is launched with clusters alone
  bool guards_products = false;           // some instruction may touch registers of a wgmma in flight
  std::unordered_map<uint32_t, uint32_t> unfenced_products;  // wgmma -> what changed its registers (kNoOp)
  std::unordered_map<uint32_t, std::shared_ptr<const GuardedOp>> guarded;  // by Op::index
  std::vector<std::shared_ptr<const void>> details;                        // that ops point to
  std::shared_ptr<KernelPlan> plan;  // the cost model's view of the code, made at its first launch
};

class ModuleImage : public LoadedModule {
 public:
  ModuleImage(ptx::Module parsed, DeviceMemory& memory);
  ~ModuleImage() override;
  // Places variables in device memory. Returns an error of cuda_error.h, with a sentence, or none.
  int allocate(std::string* message);

  KernelInfo* kernel(const std::string& name) override;
  bool symbol(const std::string& name, Symbol* out) const override;

  KernelCode& code_of(const KernelInfo* info);        // lowers at first use
  int function_index(const std::string& name) const;  // -1 when there is none
  const ptx::Module& text() const { return text_; }
  // The source place of a location, innermost first.
  std::vector<SourcePlace> place(int loc) const;
  // The same, from the student's line outwards: the innermost place in the file that holds the kernel, else
  // the outermost. Lines of the toolkit's headers tell a student nothing.
  std::vector<SourcePlace> students_place(int loc, const KernelCode& kernel) const;

 private:
  ptx::Module text_;
  DeviceMemory& memory_;
  std::unordered_map<std::string, Symbol> symbols_;
  std::unordered_map<std::string, int> functions_;
  std::unordered_map<std::string, std::unique_ptr<KernelCode>> kernels_;
  std::vector<std::pair<uint64_t, AllocKind>> owned_;
};

std::string demangle(const std::string& name);
std::string short_name(const std::string& mangled);  // "s" of "k(int)::s"

// Lowers a kernel and everything it can reach; what cannot be run is listed in `kernel.unsupported`.
void lower_kernel(ModuleImage& module, KernelCode& kernel);

}  // namespace vgpu
