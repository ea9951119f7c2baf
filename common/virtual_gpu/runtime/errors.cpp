#include "errors.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "api.h"
#include "connection.h"
#include "error_table.h"

namespace vgpu {

namespace {

thread_local cudaError_t last_error = cudaSuccess;

const ErrorText* find_text(cudaError_t error) {
  const auto* found = std::find_if(std::begin(kErrorTexts), std::end(kErrorTexts),
                                   [&](const ErrorText& row) { return row.code == error; });
  return found == std::end(kErrorTexts) ? nullptr : found;
}

constexpr const char* kUnrecognized = "unrecognized error code";

}  // namespace

cudaError_t record_error(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
  return error;
}

void say(const char* format, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "virtual GPU: %s\n", line);
}

int not_supported(const char* function, bool* warned, const char* status) {
  if (!__atomic_exchange_n(warned, true, __ATOMIC_RELAXED)) {
    say("%s is not supported here and returns %s", function, status);
    Connection::get().call(wire::Request::kRefused, nullptr, 0, function, std::strlen(function), nullptr);
  }
  return record_error(cudaErrorNotSupported);
}

}  // namespace vgpu

VGPU_API cudaError_t cudaGetLastError() {
  const cudaError_t error = vgpu::last_error;
  vgpu::last_error = cudaSuccess;
  return error;
}

VGPU_API cudaError_t cudaPeekAtLastError() {
  return vgpu::last_error;
}

VGPU_API const char* cudaGetErrorName(cudaError_t error) {
  const vgpu::ErrorText* row = vgpu::find_text(error);
  return row ? row->name : vgpu::kUnrecognized;
}

VGPU_API const char* cudaGetErrorString(cudaError_t error) {
  const vgpu::ErrorText* row = vgpu::find_text(error);
  return row ? row->text : vgpu::kUnrecognized;
}
