// Functions of cuBLAS that are not here: each names itself once, and refuses.
#include <string>

#include "cublas/call.h"
#include "errors.h"

namespace {

// Named as the program's text has it.
cublasStatus_t refuse(const char* symbol, bool* warned) {
  std::string name(symbol);
  if (const size_t version = name.find("_v2"); version != std::string::npos) name.erase(version, 3);
  vgpu::not_supported(name.c_str(), warned, "CUBLAS_STATUS_NOT_SUPPORTED");
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

}  // namespace

// Arguments are not looked at, so one form serves every signature.
#define VGPU_REFUSED(name)         \
  VGPU_CUBLAS name(...) {          \
    static bool warned = false;    \
    return refuse(#name, &warned); \
  }
#define CUBLAS_LACKING(name) \
  VGPU_REFUSED(cublas##name) \
  VGPU_REFUSED(cublas##name##_64)
#include "../../include/cublas_lacking.def"
