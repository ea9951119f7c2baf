// Variables of device code, reached through their shadows in the host program.
#include "api.h"
#include "copies.h"
#include "modules.h"

namespace {

using vgpu::Timing;
using vgpu::Variable;

cudaError_t place_in(const void* symbol, size_t offset, size_t bytes, void** address) {
  Variable* variable = nullptr;
  const cudaError_t error = vgpu::Registry::get().find_variable(symbol, &variable);
  if (error != cudaSuccess) return error;
  if (offset > variable->where.bytes || bytes > variable->where.bytes - offset) return cudaErrorInvalidValue;
  *address = reinterpret_cast<void*>(variable->where.address + offset);
  return cudaSuccess;
}

cudaError_t to_symbol(const void* symbol, const void* src, size_t bytes, size_t offset, cudaMemcpyKind kind,
                      uint64_t stream, Timing timing) {
  if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost) return cudaErrorInvalidMemcpyDirection;
  void* address = nullptr;
  const cudaError_t error = place_in(symbol, offset, bytes, &address);
  return error != cudaSuccess ? error : vgpu::copy({address, src, bytes, 1, 0, 0, kind, stream, timing});
}

cudaError_t from_symbol(void* dst, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
                        uint64_t stream, Timing timing) {
  if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost) return cudaErrorInvalidMemcpyDirection;
  void* address = nullptr;
  const cudaError_t error = place_in(symbol, offset, bytes, &address);
  return error != cudaSuccess ? error : vgpu::copy({dst, address, bytes, 1, 0, 0, kind, stream, timing});
}

}  // namespace

VGPU_TWINS(cudaMemcpyToSymbol, _ptds,
           (const void* symbol, const void* src, size_t bytes, size_t offset, cudaMemcpyKind kind),
           (symbol, src, bytes, offset, kind)) {
  return to_symbol(symbol, src, bytes, offset, kind, on_default(), Timing::kSync);
}

VGPU_TWINS(cudaMemcpyToSymbolAsync, _ptsz,
           (const void* symbol, const void* src, size_t bytes, size_t offset, cudaMemcpyKind kind,
            cudaStream_t stream),
           (symbol, src, bytes, offset, kind, stream)) {
  return to_symbol(symbol, src, bytes, offset, kind, on(stream), Timing::kAsync);
}

VGPU_TWINS(cudaMemcpyFromSymbol, _ptds,
           (void* dst, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind),
           (dst, symbol, bytes, offset, kind)) {
  return from_symbol(dst, symbol, bytes, offset, kind, on_default(), Timing::kSync);
}

VGPU_TWINS(cudaMemcpyFromSymbolAsync, _ptsz,
           (void* dst, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
            cudaStream_t stream),
           (dst, symbol, bytes, offset, kind, stream)) {
  return from_symbol(dst, symbol, bytes, offset, kind, on(stream), Timing::kAsync);
}

VGPU_ENTRY(cudaGetSymbolAddress, (void** address, const void* symbol), (address, symbol)) {
  if (address == nullptr) return cudaErrorInvalidValue;
  return place_in(symbol, 0, 0, address);
}

VGPU_ENTRY(cudaGetSymbolSize, (size_t* bytes, const void* symbol), (bytes, symbol)) {
  if (bytes == nullptr) return cudaErrorInvalidValue;
  Variable* variable = nullptr;
  const cudaError_t error = vgpu::Registry::get().find_variable(symbol, &variable);
  if (error == cudaSuccess) *bytes = variable->where.bytes;
  return error;
}
