// Requests about modules: loading PTX, finding kernels and variables, attributes and occupancy.
#include <algorithm>
#include <cstdlib>

#include "exec/module.h"
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

// The oldest version of PTX that knows a target: ptxas takes no older text for it.
int oldest_version(int target, bool is_for_it_alone) {
  if (target >= 90) return is_for_it_alone ? 80 : 78;
  if (target >= 89) return 78;
  if (target >= 80) return 70;
  return 0;
}

// 0, or an error and a sentence about a text that a driver refuses.
int not_for_this_device(const ptx::Module& text, const Profile& profile, std::string* message) {
  constexpr int kNewestVersion = 93;  // nvcc of CUDA 13 writes none that is newer
  const int version = text.version_major * 10 + text.version_minor;
  const int target = text.target.size() > 3 ? std::atoi(text.target.c_str() + 3) : 0;
  const std::string said =
      ".version " + std::to_string(text.version_major) + "." + std::to_string(text.version_minor) + " of PTX";
  if (version > kNewestVersion) {
    *message = said + " is newer than any that is known here";
    return cuda::kUnsupportedPtxVersion;
  }
  const int device = profile.cc_major * 10 + profile.cc_minor;
  if (target > device) {
    *message = "PTX for " + text.target + ", and " + profile.name + " is sm_" + std::to_string(device);
    return cuda::kInvalidPtx;
  }
  if (version < oldest_version(target, text.target.ends_with('a'))) {
    *message = said + " has no " + text.target;
    return cuda::kInvalidPtx;
  }
  const auto has_clusters = [](const ptx::Function& function) { return function.required_cluster[0] > 0; };
  if (target < 90 && std::ranges::any_of(text.functions, has_clusters)) {
    *message =
        "a kernel with .reqnctapercluster, which " + text.target + " does not have: sm_90 is the first";
    return cuda::kInvalidPtx;
  }
  return cuda::kSuccess;
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
  if (module != nullptr)
    error = not_for_this_device(static_cast<const ModuleImage&>(*module).text(), session.config.profile,
                                &message);
  if (module == nullptr || error != cuda::kSuccess) return session.refuse(reply, error, message);
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

// cudaFuncAttribute
enum FuncAttribute : int {
  kMaxDynamicShared = 8,
  kCarveout = 9,
  kRequiredClusterWidth = 11,  // height, depth
  kRequiredClusterDepth = 13,
  kAnyClusterSize = 14,
  kClusterScheduling = 15,
};

void set_max_dynamic_shared(Session& session, KernelInfo& kernel, int value, Reply& reply) {
  const int most = session.config.profile.shared_per_block_optin - kernel.static_shared;
  if (value < 0 || value > most)
    return session.refuse(reply, cuda::kInvalidValue,
                          "cudaFuncSetAttribute asks for " + std::to_string(value) +
                              " bytes of dynamic shared memory; " + session.config.profile.name + " allows " +
                              std::to_string(most) + " beside the kernel's static " +
                              std::to_string(kernel.static_shared));
  kernel.max_dynamic_shared = value;
}

void set_attribute(Session& session, const wire::FuncSetAttribute& in, Reply& reply) {
  const auto found = session.functions.find(in.function);
  KernelInfo* kernel = find_kernel(session, in.function, reply);
  if (kernel == nullptr) return;
  const auto refuse = [&](const std::string& why) {
    session.refuse(reply, cuda::kInvalidValue, "cudaFuncSetAttribute: " + why);
  };
  switch (in.attribute) {
    case kMaxDynamicShared:
      return set_max_dynamic_shared(session, *kernel, in.value, reply);
    case kCarveout:  // a hint: occupancy takes all there is anyway
      if (in.value < -1 || in.value > 100) refuse("a carveout is -1 or a percentage from 0 to 100");
      return;
    case kAnyClusterSize:
      kernel->any_cluster_size = in.value != 0;
      return;
    case kClusterScheduling:
      if (in.value < 0 || in.value > 2) refuse("a policy of cluster scheduling is 0, 1 or 2");
      return;
    default:
      break;
  }
  if (in.attribute < kRequiredClusterWidth || in.attribute > kRequiredClusterDepth)
    return refuse("attribute " + std::to_string(in.attribute) + " is none that a program may set");
  const KernelCode& code = static_cast<ModuleImage&>(*found->second.module).code_of(kernel);
  const int axis = in.attribute - kRequiredClusterWidth;
  if (in.value < 0 || (code.required_cluster[0] > 0 && code.required_cluster[axis] != in.value))
    return refuse("the kernel is built for clusters of another size (__cluster_dims__)");
  kernel->required_cluster[axis] = in.value;
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
