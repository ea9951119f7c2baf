#include "exec/module.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>

#include "cuda_error.h"
#include "exec/flags.h"
#include "exec/lowering.h"
#include "exec/wgmma.h"
#include "ptx/link.h"

namespace vgpu {

using ptx::Space;

std::string demangle(const std::string& linked_name) {
  const std::string name = linked_name.substr(0, linked_name.find(ptx::kFileMark));
  // A bare "c" would be read as a type: char.
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string out = status == 0 && text ? text : name;
  std::free(text);
  return out;
}

std::string short_name(const std::string& mangled) {
  const std::string full = demangle(mangled);
  const size_t at = full.rfind("::");
  return at == std::string::npos ? full : full.substr(at + 2);
}

ModuleImage::ModuleImage(ptx::Module parsed, DeviceMemory& memory)
    : text_(std::move(parsed)), memory_(memory) {
  for (size_t i = 0; i < text_.functions.size(); ++i) {
    const ptx::Function& f = text_.functions[i];
    functions_[f.name] = static_cast<int>(i);
    if (!f.is_entry || f.is_declaration) continue;
    auto k = std::make_unique<KernelCode>();
    k->function = static_cast<int>(i);
    KernelInfo& info = k->info;
    info.name = f.name;
    uint64_t at = 0;
    for (const ptx::Variable& p : f.params) {
      at = (at + p.align - 1) / p.align * p.align;
      info.params.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(p.bytes)});
      at += p.bytes;
    }
    info.param_bytes = static_cast<uint32_t>(at);
    if (f.max_threads > 0) info.max_threads = std::min(1024, f.max_threads);
    std::copy(std::begin(f.required_threads), std::end(f.required_threads), info.required_threads);
    info.ptx_version = text_.version_major * 10 + text_.version_minor;
    info.binary_version = std::atoi(text_.target.c_str() + (text_.target.starts_with("sm_") ? 3 : 0));
    kernels_[f.name] = std::move(k);
  }
}

ModuleImage::~ModuleImage() {
  for (const auto& [address, kind] : owned_) memory_.release(address, kind, "module unload");
}

constexpr int64_t kMostConstant = 64 << 10;  // of a module

int ModuleImage::allocate(std::string* message) {
  int64_t const_bytes = 0;
  for (const ptx::Variable& v : text_.variables) {
    if (v.space != Space::kGlobal && v.space != Space::kConst) continue;
    if (v.is_extern) continue;
    const AllocKind kind = v.is_managed ? AllocKind::kManaged : AllocKind::kSymbol;
    Allocation* a = memory_.allocate(std::max<uint64_t>(1, v.bytes), kind, short_name(v.name),
                                     std::max<uint64_t>(256, v.align));
    if (a == nullptr) {
      *message = "variable " + short_name(v.name) + " of " + std::to_string(v.bytes) +
                 " bytes does not fit in memory";
      return cuda::kMemoryAllocation;
    }
    a->from_program = false;
    owned_.push_back({a->base, kind});
    symbols_[v.name] = {a->base, v.bytes};
    if (v.space == Space::kConst) const_bytes += static_cast<int64_t>(v.bytes);
    // Variables without an initialiser are zero, as in C.
    std::memset(DeviceMemory::host(a->base), 0, v.bytes);
    memory_.mark_written(*a, a->base, v.bytes);
    if (!v.init.empty()) std::memcpy(DeviceMemory::host(a->base), v.init.data(), v.init.size());
  }
  for (const ptx::Variable& v : text_.variables)
    for (const ptx::Relocation& r : v.relocations) {
      const auto home = symbols_.find(v.name);
      if (home == symbols_.end()) continue;
      uint64_t value;
      if (const auto s = symbols_.find(r.symbol); s != symbols_.end()) {
        value = s->second.address;
      } else if (const int f = function_index(r.symbol); f >= 0) {
        value = kFunctionBase + 16ull * static_cast<uint64_t>(f);
      } else {
        *message = "variable " + v.name + " is initialised with the address of " + r.symbol +
                   ", which the module lacks";
        return cuda::kInvalidPtx;
      }
      value += static_cast<uint64_t>(r.addend);
      if (r.offset + 8 <= v.bytes)
        std::memcpy(DeviceMemory::host(home->second.address + r.offset), &value, 8);
    }
  if (const_bytes > kMostConstant) {  // ptxas makes no machine code of it
    *message = std::to_string(const_bytes) + " bytes in __constant__ variables, of which there are at most " +
               std::to_string(kMostConstant);
    return cuda::kInvalidPtx;
  }
  for (auto& [name, k] : kernels_) k->info.const_bytes = static_cast<int>(const_bytes);
  return cuda::kSuccess;
}

KernelInfo* ModuleImage::kernel(const std::string& name) {
  const auto it = kernels_.find(name);
  if (it == kernels_.end()) return nullptr;
  code_of(&it->second->info);
  return &it->second->info;
}

bool ModuleImage::symbol(const std::string& name, Symbol* out) const {
  const auto it = symbols_.find(name);
  if (it == symbols_.end()) return false;
  *out = it->second;
  return true;
}

int ModuleImage::function_index(const std::string& name) const {
  const auto it = functions_.find(name);
  return it == functions_.end() ? -1 : it->second;
}

KernelCode& ModuleImage::code_of(const KernelInfo* info) {
  KernelCode& k = *kernels_.at(info->name);
  if (!k.lowered) lower_kernel(*this, k);
  return k;
}

std::vector<SourcePlace> ModuleImage::place(int loc) const {
  std::vector<SourcePlace> out;
  for (int guard = 0; loc > 0 && static_cast<size_t>(loc) < text_.locs.size() && guard < 64; ++guard) {
    const ptx::Loc& l = text_.locs[static_cast<size_t>(loc)];
    SourcePlace p;
    if (l.file > 0 && static_cast<size_t>(l.file) < text_.files.size())
      p.file = text_.files[static_cast<size_t>(l.file)];
    p.line = l.line;
    if (!l.function_name.empty()) p.function = demangle(l.function_name);
    out.push_back(std::move(p));
    loc = l.inlined_at;
  }
  return out;
}

std::vector<SourcePlace> ModuleImage::students_place(int loc, const KernelCode& kernel) const {
  std::vector<SourcePlace> places = place(loc);
  const std::vector<SourcePlace> home = place(text_.functions[static_cast<size_t>(kernel.function)].loc);
  size_t at = places.empty() ? 0 : places.size() - 1;
  if (!home.empty())
    for (size_t i = places.size(); i-- > 0;)
      if (places[i].file == home.back().file) at = i;
  places.erase(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(at));
  return places;
}

namespace {

// Shared variables of the module and of every function the kernel can reach, with guards between them.
void place_shared(const ptx::Module& text, KernelCode& kernel, const std::vector<int>& reachable) {
  uint32_t at = kSharedBegin;
  uint32_t dynamic_align = 16;
  std::vector<const ptx::Variable*> dynamic;
  auto put = [&](const ptx::Variable& v) {
    if (v.space != Space::kShared || kernel.shared_offset.count(v.name)) return;
    if (v.bytes == 0) {
      dynamic.push_back(&v);
      dynamic_align = std::max(dynamic_align, static_cast<uint32_t>(v.align));
      return;
    }
    const uint32_t align = std::max<uint32_t>(kSharedGuard, static_cast<uint32_t>(v.align));
    at = (at + align - 1) / align * align;
    kernel.shared_offset[v.name] = at;
    kernel.shared.push_back({at, at + static_cast<uint32_t>(v.bytes), short_name(v.name)});
    kernel.info.static_shared += static_cast<int>(v.bytes);
    at += static_cast<uint32_t>(v.bytes) + kSharedGuard;
  };
  // A module-scope variable counts only when the kernel's code names it.
  auto named = [&](const std::string& name) {
    for (int f : reachable)
      for (const ptx::Instruction& in : text.functions[static_cast<size_t>(f)].body)
        for (const ptx::Operand& o : in.operands)
          if (o.name == name) return true;
    return false;
  };
  for (const ptx::Variable& v : text.variables)
    if (v.space == Space::kShared && named(v.name)) put(v);
  for (int f : reachable)
    for (const ptx::Variable& v : text.functions[static_cast<size_t>(f)].variables) put(v);
  const uint32_t align = std::max(kSharedGuard, dynamic_align);
  kernel.dynamic_begin = (at + align - 1) / align * align;
  for (const ptx::Variable* v : dynamic) kernel.shared_offset[v->name] = kernel.dynamic_begin;
}

std::vector<int> reachable_functions(const ModuleImage& module, int entry) {
  const ptx::Module& text = module.text();
  std::vector<bool> seen(text.functions.size(), false);
  std::deque<int> work{entry};
  std::vector<int> out;
  bool indirect = false, taken_added = false;
  seen[static_cast<size_t>(entry)] = true;
  auto add = [&](int f) {
    if (f < 0 || seen[static_cast<size_t>(f)] || text.functions[static_cast<size_t>(f)].is_declaration)
      return;
    // A kernel is launched, not called.
    if (text.functions[static_cast<size_t>(f)].is_entry) return;
    seen[static_cast<size_t>(f)] = true;
    work.push_back(f);
  };
  while (true) {
    while (!work.empty()) {
      const int f = work.front();
      work.pop_front();
      out.push_back(f);
      for (const ptx::Instruction& in : text.functions[static_cast<size_t>(f)].body) {
        if (in.call >= 0 && !in.operands.empty() && in.operands[0].kind == ptx::OperandKind::kReg)
          indirect = true;
        for (const ptx::Operand& o : in.operands)
          if (o.kind == ptx::OperandKind::kSymbol) add(module.function_index(o.name));
      }
    }
    if (!indirect || taken_added) return out;
    // An indirect call may reach any function whose address a variable holds.
    taken_added = true;
    for (const ptx::Variable& v : text.variables)
      for (const ptx::Relocation& r : v.relocations) add(module.function_index(r.symbol));
  }
}

// Whether blocks can see each other's progress, so that their order changes results.
bool orders_blocks(const Code& code) {
  for (const Op& op : code.ops) {
    if (op.space == static_cast<uint8_t>(Space::kShared)) continue;
    if (op.cls == InstrClass::kAtomic) {
      const bool commutes = (op.flags & kResultUnused) && op.atomic.commutes;
      if (!commutes) return true;
    }
    if (op.flags & (kPolls | kReleases))
      if (op.cls == InstrClass::kLoadGlobal || op.cls == InstrClass::kStoreGlobal) return true;
  }
  return false;
}

// Whether global memory is updated by atomics of more than one kind.
bool mixes_atomics(const KernelCode& kernel) {
  OpFn kind = nullptr;
  for (const auto& code : kernel.codes) {
    if (!code) continue;
    for (const Op& op : code->ops) {
      if (op.cls != InstrClass::kAtomic || op.space == static_cast<uint8_t>(Space::kShared)) continue;
      if (kind != nullptr && op.fn[0] != kind) return true;
      kind = op.fn[0];
    }
  }
  return false;
}

}  // namespace

void lower_kernel(ModuleImage& module, KernelCode& kernel) {
  kernel.lowered = true;
  const ptx::Module& text = module.text();
  const std::vector<int> reachable = reachable_functions(module, kernel.function);
  place_shared(text, kernel, reachable);
  const ptx::Function& entry = text.functions[static_cast<size_t>(kernel.function)];
  std::copy(entry.required_cluster, entry.required_cluster + 3, kernel.required_cluster);
  kernel.max_cluster = entry.max_cluster;
  kernel.needs_cluster = entry.needs_cluster;
  kernel.info.max_dynamic_shared = std::max(0, kernel.info.max_dynamic_shared - kernel.info.static_shared);
  kernel.codes.resize(text.functions.size());
  for (int f : reachable) {
    const ptx::Function& fn = text.functions[static_cast<size_t>(f)];
    try {
      FunctionLowering lowering(module, kernel, f);
      std::unique_ptr<Code> code = lowering.run();
      code->first_index = static_cast<uint32_t>(kernel.origins.size());
      code->first_block = kernel.block_count;
      kernel.block_count += static_cast<uint32_t>(code->blocks.size());
      lowering.record_origins(*code, kernel);
      kernel.traits.orders_blocks |= orders_blocks(*code);
      kernel.info.local_bytes += static_cast<int>(code->local_bytes);
      kernel.info.registers = std::max(kernel.info.registers, code->live_registers + 8);
      kernel.codes[static_cast<size_t>(f)] = std::move(code);
    } catch (const NotImplemented& e) {
      kernel.unsupported.push_back({"function " + demangle(fn.name) + ": " + e.what, fn.loc, fn.ptx_line});
    } catch (const NotDefined& e) {
      kernel.unsupported.push_back({demangle(e.name), fn.loc, fn.ptx_line, true});
    }
  }
  kernel.traits.orders_blocks |= kernel.traits.uses_heap || kernel.traits.asks_for_work;
  kernel.traits.mixes_atomics = mixes_atomics(kernel);
  find_flags(module, kernel);
  for (auto& code : kernel.codes)
    if (code) guard_products(*code, kernel);
  kernel.info.registers = std::clamp((kernel.info.registers + 7) / 8 * 8, 16, 255);
}

namespace {

ptx::Module parse_all(const std::string& texts) {
  std::vector<ptx::LinkUnit> units;
  for (size_t begin = 0, end; begin <= texts.size(); begin = end + 1) {
    end = std::min(texts.find(wire::kBetweenModules, begin), texts.size());
    units.push_back(ptx::parse_for_linking(texts.substr(begin, end - begin)));
  }
  return ptx::link(std::move(units));
}

}  // namespace

std::unique_ptr<LoadedModule> load_module(const std::string& ptx, DeviceMemory& memory, int* error,
                                          std::string* message) {
  try {
    auto module = std::make_unique<ModuleImage>(parse_all(ptx), memory);
    *error = module->allocate(message);
    if (*error != cuda::kSuccess) return nullptr;
    return module;
  } catch (const ptx::ParseError& e) {
    *error = cuda::kInvalidPtx;
    *message = e.what();
    return nullptr;
  } catch (const ptx::LinkError& e) {
    *error = cuda::kInvalidPtx;
    *message = "the program's device code cannot be linked: " + demangle(e.symbol) + " " + e.what();
    return nullptr;
  }
}

}  // namespace vgpu
