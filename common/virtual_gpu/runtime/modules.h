// What a program has registered: its modules of device code, their kernels and their variables. A module
// travels to the engine when something of it is first used.
#pragma once

#include <driver_types.h>

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "protocol.h"

namespace vgpu {

struct Module;

struct Function {
  Module* module = nullptr;
  std::string name;
  bool resolved = false;
  bool large_clusters = false;  // NonPortableClusterSizeAllowed
  wire::FunctionReply info{};
  std::vector<wire::ParamSlot> parameters;
};

struct Variable {
  Module* module = nullptr;
  std::string name;
  void** managed_pointer = nullptr;  // of a __managed__ variable: where the program keeps its address
  bool resolved = false;
  wire::SymbolReply where{};
};

struct Module {
  const void* fatbin = nullptr;
  std::string text;                 // PTX that the program loaded while it runs; then there is no fat binary
  std::vector<const void*> linked;  // fat binaries of other files, whose code belongs to the same module
  enum class State { kNew, kLoaded, kRefused } state = State::kNew;
  cudaError_t refusal = cudaSuccess;
  uint64_t id = 0;
  std::unordered_map<const void*, std::unique_ptr<Function>> functions;  // by host stub
  std::unordered_map<const void*, std::unique_ptr<Variable>> variables;  // by host shadow
};

class Registry {
 public:
  static Registry& get();

  Module* add(const void* fatbin);
  void link(Module* module, const void* fatbin);
  void remove(Module* module);
  // A module of PTX text, loaded at once; nullptr with an error.
  cudaError_t add_text(std::string text, Module** made);
  bool has(const Module* module);
  // By name, from such a module.
  cudaError_t function(Module* module, const char* name, Function** out);
  cudaError_t variable(Module* module, const char* name, wire::SymbolReply* out);
  void add_function(Module* module, const void* host, const char* name);
  void add_variable(Module* module, const void* host, const char* name, void** managed_pointer);

  // A kernel by its host function or by a cudaKernel_t/cudaFunction_t; resolved, its module loaded.
  // An address that is neither: cudaErrorInvalidResourceHandle, and null cudaErrorInvalidDeviceFunction.
  cudaError_t find(const void* symbol_or_handle, Function** function);
  // A handle for a host function, without asking the engine; nullptr when it is not a kernel.
  Function* handle(const void* host);
  // By the host's shadow of a variable, or by the address of a managed one.
  cudaError_t find_variable(const void* symbol, Variable** variable);

  cudaError_t load(Module* module);  // once; the same answer again later
  // For a reset: every module is unloaded first, and loaded afresh when it is used again. One with managed
  // variables is loaded at once, since the host may read those without a call.
  void unload_all();
  cudaError_t restore_managed();

 private:
  cudaError_t load_locked(Module* module);
  bool has_locked(const Module* module) const;
  cudaError_t resolve(Function& function);
  cudaError_t resolve(Variable& variable);
  cudaError_t place_managed_variables(Module& module);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Module>> modules_;
  std::unordered_map<const void*, Function*> by_host_;
  std::unordered_set<const void*> handles_;
  std::unordered_map<const void*, Variable*> variables_;
};

}  // namespace vgpu
