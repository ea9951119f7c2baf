// PTX as a program sends it: whatever its bytes, it is refused or it is loaded, lowered and launched.
#include <algorithm>
#include <memory>
#include <string>

#include "exec/module.h"
#include "small_session.h"

namespace {

constexpr uint32_t kMostParameters = 4096;

void launch(vgpu::ModuleImage& image, const std::string& name, vgpu::LaunchEnvironment& environment) {
  vgpu::LaunchRequest request;
  request.module = &image;
  request.kernel = image.kernel(name);
  if (request.kernel == nullptr || request.kernel->param_bytes > kMostParameters) return;
  request.grid = {2, 1, 1};
  request.block = {128, 1, 1};  // as wgmma wants them
  request.cluster = {1, 1, 1};
  request.dynamic_shared = 1024;
  request.params.assign(request.kernel->param_bytes, 0);
  std::string message;
  if (vgpu::check_launch(request, environment, &message) == 0) vgpu::run_launch(request, environment);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  vgpu::Session session(vgpu::small_device(), [] { return false; });
  int error = 0;
  std::string message;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::unique_ptr<vgpu::LoadedModule> loaded =
      vgpu::load_module(text, session.memory, &error, &message);
  if (loaded == nullptr) return 0;
  auto& image = static_cast<vgpu::ModuleImage&>(*loaded);
  vgpu::LaunchEnvironment environment = session.environment();
  for (const auto& function : image.text().functions)
    if (function.is_entry) launch(image, function.name, environment);
  return 0;
}
