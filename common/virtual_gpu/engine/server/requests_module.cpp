// Requests about modules: loading PTX, finding kernels and variables, attributes and occupancy.
#include <algorithm>

#include "server/dispatch.h"

namespace vgpu {
namespace {

std::string text_of(Bytes bytes) {
  return std::string(bytes.begin(), bytes.end());
}

// Each byte as the character of that number: a file in JSON can name any bytes so.
std::string as_characters(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte >= 0x80) out += static_cast<char>(0xc0 | byte >> 6);
    out += byte >= 0x80 ? static_cast<char>(0x80 | (byte & 0x3f)) : c;
  }
  return out;
}

void load(Session& session, Bytes ptx, Reply& reply) {
  int error = cuda::kInvalidPtx;
  std::string message;
  const std::string text(text_of(ptx));
  if (session.config.device_code && as_characters(text) != *session.config.device_code)
    return session.refuse(
        reply, cuda::kNotSupported,
        "the library loads device code that is not in the submitted file: only kernels that "
        "nvcc compiled from it are run");
  std::shared_ptr<LoadedModule> module = load_module(text, session.memory, &error, &message);
  if (module == nullptr) return session.refuse(reply, error, message);
  const uint64_t id = session.next_id++;
  session.modules[id] = std::move(module);
  reply.put(wire::Id{id});
}

void unload(Session& session, const wire::Id& in, Reply& reply) {
  const auto found = session.modules.find(in.id);
  if (found == session.modules.end()) {
    reply.error = cuda::kInvalidResourceHandle;
    return;
  }
  const Progress progress = session.scheduler.run_all();
  session.answer(progress, reply);
  if (!progress.ok()) return;
  std::erase_if(session.function_ids, [&](const auto& entry) {
    if (entry.first.first != in.id) return false;
    session.functions.erase(entry.second);
    return true;
  });
  session.modules.erase(found);
}

void put_function(uint64_t id, const KernelInfo& kernel, Reply& reply) {
  wire::FunctionReply out{};
  out.id = id;
  out.max_threads = kernel.max_threads;
  out.static_shared = kernel.static_shared;
  out.local_bytes = kernel.local_bytes;
  out.const_bytes = kernel.const_bytes;
  out.registers = kernel.registers;
  out.ptx_version = kernel.ptx_version;
  out.binary_version = kernel.binary_version;
  out.max_dynamic_shared = kernel.max_dynamic_shared;
  std::copy(std::begin(kernel.required_threads), std::end(kernel.required_threads), out.required_threads);
  out.param_count = static_cast<int32_t>(kernel.params.size());
  out.param_bytes = static_cast<int32_t>(kernel.param_bytes);
  reply.put(out);
}

void get_function(Session& session, const wire::Named& in, Bytes name_bytes, Reply& reply) {
  const auto module = session.modules.find(in.module);
  if (module == session.modules.end()) {
    reply.error = cuda::kInvalidResourceHandle;
    return;
  }
  const std::string name = text_of(name_bytes);
  KernelInfo* kernel = module->second->kernel(name);
  if (kernel == nullptr) {
    reply.error = cuda::kInvalidDeviceFunction;
    return;
  }
  uint64_t& id = session.function_ids[{in.module, name}];
  if (id == 0) {
    id = session.next_id++;
    session.functions[id] = {module->second, kernel};
    if (const auto known = session.config.compiled.find(name); known != session.config.compiled.end()) {
      kernel->registers = known->second.registers;
      kernel->registers_estimated = false;
      kernel->machine = known->second.machine;
    }
  }
  put_function(id, *kernel, reply);
  for (const wire::ParamSlot& slot : kernel->params) reply.put(slot);
}

void get_symbol(Session& session, const wire::Named& in, Bytes name_bytes, Reply& reply) {
  const auto module = session.modules.find(in.module);
  LoadedModule::Symbol symbol{};
  if (module == session.modules.end() || !module->second->symbol(text_of(name_bytes), &symbol)) {
    reply.error = cuda::kInvalidSymbol;
    return;
  }
  reply.put(wire::SymbolReply{symbol.address, symbol.bytes});
}

KernelInfo* find_kernel(Session& session, uint64_t id, Reply& reply) {
  const auto found = session.functions.find(id);
  if (found != session.functions.end()) return found->second.kernel;
  reply.error = cuda::kInvalidDeviceFunction;
  return nullptr;
}

void attributes(Session& session, const wire::Id& in, Reply& reply) {
  if (const KernelInfo* kernel = find_kernel(session, in.id, reply)) put_function(in.id, *kernel, reply);
}

void set_attribute(Session& session, const wire::FuncSetAttribute& in, Reply& reply) {
  constexpr int kMaxDynamicShared = 8, kCarveout = 9;  // cudaFuncAttribute
  KernelInfo* kernel = find_kernel(session, in.function, reply);
  if (kernel == nullptr || in.attribute == kCarveout) return;  // a hint: occupancy takes all there is anyway
  if (in.attribute != kMaxDynamicShared)
    return session.refuse(
        reply, cuda::kNotSupported,
        "cudaFuncSetAttribute knows the attributes for dynamic shared memory and its carveout, not " +
            std::to_string(in.attribute) + " (clusters)");
  const int most = session.config.profile.shared_per_block_optin - kernel->static_shared;
  if (in.value < 0 || in.value > most)
    return session.refuse(reply, cuda::kInvalidValue,
                          "cudaFuncSetAttribute asks for " + std::to_string(in.value) +
                              " bytes of dynamic shared memory; " + session.config.profile.name + " allows " +
                              std::to_string(most) + " beside the kernel's static " +
                              std::to_string(kernel->static_shared));
  kernel->max_dynamic_shared = in.value;
}

void occupancy(Session& session, const wire::Occupancy& in, Reply& reply) {
  const KernelInfo* kernel = find_kernel(session, in.function, reply);
  if (kernel == nullptr) return;
  if (in.block_threads <= 0 || in.block_threads > 1024) {
    reply.error = cuda::kInvalidValue;
    return;
  }
  const int blocks = occupancy_blocks(*kernel, in.block_threads, in.dynamic_shared, session.config.profile);
  reply.put(wire::Count{blocks});
}

const RequestRow kModuleRequests[] = {
    request<&load>(wire::Request::kLoadModule),
    request<&unload>(wire::Request::kUnloadModule),
    request<&get_function>(wire::Request::kGetFunction),
    request<&get_symbol>(wire::Request::kGetSymbol),
    request<&attributes>(wire::Request::kFuncAttributes),
    request<&set_attribute>(wire::Request::kFuncSetAttribute),
    request<&occupancy>(wire::Request::kOccupancy),
};

}  // namespace

std::span<const RequestRow> module_requests() {
  return kModuleRequests;
}

}  // namespace vgpu
