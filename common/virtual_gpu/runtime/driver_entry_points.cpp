// cudaGetDriverEntryPoint: the functions of the driver API that this library has.
#include <cstring>

#include "api.h"
#include "tensor_maps.h"

namespace {

struct EntryPoint {
  const char* name;
  void* function;
};
const EntryPoint kEntryPoints[] = {
    {"cuTensorMapEncodeTiled", reinterpret_cast<void*>(&vgpu::encode_tiled)},
};

cudaError_t find_entry_point(const char* symbol, void** function, cudaDriverEntryPointQueryResult* status) {
  if (symbol == nullptr || function == nullptr) return cudaErrorInvalidValue;
  *function = nullptr;
  for (const EntryPoint& known : kEntryPoints)
    if (std::strcmp(known.name, symbol) == 0) *function = known.function;
  if (status != nullptr)
    *status = *function != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return *function != nullptr || status != nullptr ? cudaSuccess : cudaErrorSymbolNotFound;
}

}  // namespace

VGPU_TWINS(cudaGetDriverEntryPoint, _ptsz,
           (const char* symbol, void** function, unsigned long long, cudaDriverEntryPointQueryResult* status),
           (symbol, function, 0, status)) {
  return find_entry_point(symbol, function, status);
}

VGPU_TWINS(cudaGetDriverEntryPointByVersion, _ptsz,
           (const char* symbol, void** function, unsigned, unsigned long long,
            cudaDriverEntryPointQueryResult* status),
           (symbol, function, 0, 0, status)) {
  return find_entry_point(symbol, function, status);
}
