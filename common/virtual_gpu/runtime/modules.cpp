#include "modules.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstring>

#include "connection.h"
#include "errors.h"
#include "fatbin.h"

namespace vgpu {

using wire::Request;

namespace {

// Such a module goes only when the program ends, and then the engine need not be asked: unloading would make
// it finish work that the program did not wait for.
bool is_in_main_program(const void* fatbin) {
  Dl_info where{};
  link_map* object = nullptr;
  return dladdr1(fatbin, &where, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) != 0 &&
         object != nullptr && object->l_prev == nullptr;
}

// The PTX of all files that the module was linked from.
cudaError_t text_of(const Module& module, int device_capability, std::string* text) {
  if (!module.text.empty()) {
    *text = module.text;
    return cudaSuccess;
  }
  std::vector<const void*> fatbins = {module.fatbin};
  fatbins.insert(fatbins.end(), module.linked.begin(), module.linked.end());
  for (const void* fatbin : fatbins) {
    const PtxChoice ptx = choose_ptx(fatbin, device_capability);
    if (ptx.text.empty()) {
      say("%s", ptx.problem.c_str());
      return cudaErrorNoKernelImageForDevice;
    }
    if (!text->empty()) text->push_back(wire::kBetweenModules);
    text->append(ptx.text);
  }
  return cudaSuccess;
}

}  // namespace

// Never destroyed: static destructors of the program may still launch and copy.
Registry& Registry::get() {
  static Registry* const registry = new Registry;
  return *registry;
}

Module* Registry::add(const void* fatbin) {
  const std::lock_guard<std::mutex> lock(mutex_);
  modules_.push_back(std::make_unique<Module>());
  modules_.back()->fatbin = fatbin;
  return modules_.back().get();
}

cudaError_t Registry::add_text(std::string text, Module** made) {
  *made = add(nullptr);
  (*made)->text = std::move(text);
  const cudaError_t error = load(*made);
  if (error == cudaSuccess) return cudaSuccess;
  remove(*made);
  *made = nullptr;
  return error;
}

bool Registry::has_locked(const Module* module) const {
  return std::any_of(modules_.begin(), modules_.end(), [&](const auto& m) { return m.get() == module; });
}

bool Registry::has(const Module* module) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return has_locked(module);
}

cudaError_t Registry::function(Module* module, const char* name, Function** out) {
  const std::lock_guard<std::mutex> lock(mutex_);
  *out = nullptr;
  if (!has_locked(module)) return cudaErrorInvalidResourceHandle;
  for (const auto& [host, known] : module->functions) {
    if (known->name != name) continue;
    *out = known.get();
    return known->resolved ? cudaSuccess : resolve(*known);
  }
  auto made = std::make_unique<Function>();
  made->module = module;
  made->name = name;
  if (const cudaError_t error = resolve(*made); error != cudaSuccess) return error;
  *out = made.get();
  handles_.insert(*out);
  module->functions[*out] = std::move(made);  // it has no host function to be known by
  return cudaSuccess;
}

cudaError_t Registry::variable(Module* module, const char* name, wire::SymbolReply* out) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!has_locked(module)) return cudaErrorInvalidResourceHandle;
  Variable asked;
  asked.module = module;
  asked.name = name;
  const cudaError_t error = resolve(asked);
  *out = asked.where;
  return error;
}

void Registry::link(Module* module, const void* fatbin) {
  const std::lock_guard<std::mutex> lock(mutex_);
  module->linked.push_back(fatbin);
}

void Registry::remove(Module* module) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found =
      std::find_if(modules_.begin(), modules_.end(), [&](const auto& m) { return m.get() == module; });
  if (found == modules_.end()) return;
  if (!is_in_main_program(module->fatbin)) {
    if (module->state == Module::State::kLoaded)
      Connection::get().ask(Request::kUnloadModule, wire::Id{module->id});
    Connection::get().forget_code();
  }
  for (const auto& [host, function] : module->functions) {
    handles_.erase(function.get());
    const auto known = by_host_.find(host);
    if (known != by_host_.end() && known->second == function.get()) by_host_.erase(known);
  }
  for (const auto& [host, variable] : module->variables) {
    const auto known = variables_.find(host);
    if (known != variables_.end() && known->second == variable.get()) variables_.erase(known);
  }
  modules_.erase(found);
}

void Registry::add_function(Module* module, const void* host, const char* name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& function = module->functions[host];
  function = std::make_unique<Function>();
  function->module = module;
  function->name = name;
  handles_.insert(function.get());
  // Of a template's instances in several source files, which share one host function, any will do.
  by_host_.emplace(host, function.get());
}

void Registry::add_variable(Module* module, const void* host, const char* name, void** managed_pointer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& variable = module->variables[host];
  variable = std::make_unique<Variable>();
  variable->module = module;
  variable->name = name;
  variable->managed_pointer = managed_pointer;
  variables_.emplace(host, variable.get());
}

cudaError_t Registry::find(const void* symbol_or_handle, Function** function) {
  if (symbol_or_handle == nullptr) return cudaErrorInvalidDeviceFunction;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = by_host_.find(symbol_or_handle);
  if (known != by_host_.end()) {
    *function = known->second;
  } else if (handles_.count(symbol_or_handle) != 0) {
    *function = static_cast<Function*>(const_cast<void*>(symbol_or_handle));
  } else {
    return cudaErrorInvalidResourceHandle;
  }
  return (*function)->resolved ? cudaSuccess : resolve(**function);
}

Function* Registry::handle(const void* host) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = by_host_.find(host);
  return known == by_host_.end() ? nullptr : known->second;
}

cudaError_t Registry::find_variable(const void* symbol, Variable** variable) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = variables_.find(symbol);
  if (known != variables_.end()) {
    *variable = known->second;
    return (*variable)->resolved ? cudaSuccess : resolve(**variable);
  }
  // The name of a managed variable stands for its memory, so that is what the program passes.
  for (const auto& [host, candidate] : variables_) {
    if (candidate->managed_pointer != nullptr && *candidate->managed_pointer == symbol && symbol != nullptr) {
      *variable = candidate;
      return cudaSuccess;
    }
  }
  return cudaErrorInvalidSymbol;
}

cudaError_t Registry::load(Module* module) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return load_locked(module);
}

cudaError_t Registry::load_locked(Module* module) {
  if (module->state == Module::State::kLoaded) return cudaSuccess;
  if (module->state == Module::State::kRefused) return module->refusal;
  Connection& connection = Connection::get();
  if (const cudaError_t error = connection.ready(); error != cudaSuccess) return error;
  const wire::DeviceInfo& device = connection.device();
  std::string text;
  cudaError_t error = text_of(*module, device.cc_major * 10 + device.cc_minor, &text);
  Bytes reply;
  wire::Id id{};
  if (error == cudaSuccess) {
    error = connection.call(Request::kLoadModule, text.data(), text.size(), nullptr, 0, &reply);
    if (error == cudaSuccess) error = Connection::unpack(reply, &id);
  }
  if (error != cudaSuccess) {
    // A device that is poisoned or gone refuses everything; only the module's own fault is kept.
    if (!connection.poisoned() && connection.ready() == cudaSuccess) module->state = Module::State::kRefused;
    module->refusal = error;
    return error;
  }
  module->id = id.id;
  module->state = Module::State::kLoaded;
  return place_managed_variables(*module);
}

cudaError_t Registry::place_managed_variables(Module& module) {
  for (const auto& [host, variable] : module.variables) {
    if (variable->managed_pointer == nullptr) continue;
    if (const cudaError_t error = resolve(*variable); error != cudaSuccess) return error;
    *variable->managed_pointer = reinterpret_cast<void*>(variable->where.address);
  }
  return cudaSuccess;
}

namespace {

cudaError_t ask_by_name(Request request, const Module& module, const std::string& name, Bytes* reply) {
  const wire::Named named{module.id};
  return Connection::get().call(request, &named, sizeof named, name.data(), name.size(), reply);
}

}  // namespace

cudaError_t Registry::resolve(Function& function) {
  if (const cudaError_t error = load_locked(function.module); error != cudaSuccess) return error;
  Bytes reply;
  cudaError_t error = ask_by_name(Request::kGetFunction, *function.module, function.name, &reply);
  if (error == cudaSuccess) error = Connection::unpack(reply, &function.info);
  if (error != cudaSuccess) return error;
  const auto count = static_cast<size_t>(function.info.param_count);
  if (reply.size() < sizeof function.info + count * sizeof(wire::ParamSlot)) return cudaErrorUnknown;
  function.parameters.resize(count);
  if (count > 0) {
    std::memcpy(function.parameters.data(), reply.data() + sizeof function.info,
                count * sizeof(wire::ParamSlot));
  }
  function.resolved = true;
  return cudaSuccess;
}

cudaError_t Registry::resolve(Variable& variable) {
  if (const cudaError_t error = load_locked(variable.module); error != cudaSuccess) return error;
  Bytes reply;
  cudaError_t error = ask_by_name(Request::kGetSymbol, *variable.module, variable.name, &reply);
  if (error == cudaSuccess) error = Connection::unpack(reply, &variable.where);
  variable.resolved = error == cudaSuccess;
  return error;
}

void Registry::unload_all() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& module : modules_) {
    if (module->state == Module::State::kLoaded) {
      Connection::get().ask(Request::kUnloadModule, wire::Id{module->id});
      module->state = Module::State::kNew;
    }
    for (const auto& [host, function] : module->functions) function->resolved = false;
    for (const auto& [host, variable] : module->variables) variable->resolved = false;
  }
}

cudaError_t Registry::restore_managed() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& module : modules_) {
    for (const auto& [host, variable] : module->variables) {
      if (variable->managed_pointer == nullptr || *variable->managed_pointer == nullptr) continue;
      if (const cudaError_t error = load_locked(module.get()); error != cudaSuccess) return error;
    }
  }
  return cudaSuccess;
}

}  // namespace vgpu
