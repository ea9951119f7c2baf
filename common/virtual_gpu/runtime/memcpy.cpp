// The names under which the API copies and fills.
#include "api.h"
#include "copies.h"

using vgpu::CopyPlan;
using vgpu::Timing;

namespace {

// A single row wider than its pitch is an invalid value; more rows, an invalid pitch (copy() says so).
cudaError_t copy_rows(const CopyPlan& plan) {
  if (plan.height == 1 && (plan.dst_pitch < plan.width || plan.src_pitch < plan.width))
    return cudaErrorInvalidValue;
  return vgpu::copy(plan);
}

}  // namespace

VGPU_TWINS(cudaMemcpy, _ptds, (void* dst, const void* src, size_t bytes, cudaMemcpyKind kind),
           (dst, src, bytes, kind)) {
  return vgpu::copy({dst, src, bytes, 1, 0, 0, kind, on_default(), Timing::kSync});
}

VGPU_TWINS(cudaMemcpyAsync, _ptsz,
           (void* dst, const void* src, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream),
           (dst, src, bytes, kind, stream)) {
  return vgpu::copy({dst, src, bytes, 1, 0, 0, kind, on(stream), Timing::kAsync});
}

VGPU_TWINS(cudaMemcpy2D, _ptds,
           (void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width, size_t height,
            cudaMemcpyKind kind),
           (dst, dst_pitch, src, src_pitch, width, height, kind)) {
  return copy_rows({dst, src, width, height, dst_pitch, src_pitch, kind, on_default(), Timing::kSync});
}

VGPU_TWINS(cudaMemcpy2DAsync, _ptsz,
           (void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width, size_t height,
            cudaMemcpyKind kind, cudaStream_t stream),
           (dst, dst_pitch, src, src_pitch, width, height, kind, stream)) {
  return copy_rows({dst, src, width, height, dst_pitch, src_pitch, kind, on(stream), Timing::kAsync});
}

VGPU_TWINS(cudaMemcpy3D, _ptds, (const cudaMemcpy3DParms* parameters), (parameters)) {
  return vgpu::copy_3d(parameters, on_default(), Timing::kSync);
}

VGPU_TWINS(cudaMemcpy3DAsync, _ptsz, (const cudaMemcpy3DParms* parameters, cudaStream_t stream),
           (parameters, stream)) {
  return vgpu::copy_3d(parameters, on(stream), Timing::kAsync);
}

VGPU_TWINS(cudaMemset, _ptds, (void* dst, int value, size_t bytes), (dst, value, bytes)) {
  return vgpu::fill(dst, 0, value, bytes, 1, on_default());
}

VGPU_TWINS(cudaMemsetAsync, _ptsz, (void* dst, int value, size_t bytes, cudaStream_t stream),
           (dst, value, bytes, stream)) {
  return vgpu::fill(dst, 0, value, bytes, 1, on(stream));
}

VGPU_TWINS(cudaMemset2D, _ptds, (void* dst, size_t pitch, int value, size_t width, size_t height),
           (dst, pitch, value, width, height)) {
  return vgpu::fill(dst, pitch, value, width, height, on_default());
}

VGPU_TWINS(cudaMemset2DAsync, _ptsz,
           (void* dst, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream),
           (dst, pitch, value, width, height, stream)) {
  return vgpu::fill(dst, pitch, value, width, height, on(stream));
}

VGPU_TWINS(cudaMemset3D, _ptds, (cudaPitchedPtr dst, int value, cudaExtent extent), (dst, value, extent)) {
  return vgpu::fill_3d(dst, value, extent, on_default());
}

VGPU_TWINS(cudaMemset3DAsync, _ptsz, (cudaPitchedPtr dst, int value, cudaExtent extent, cudaStream_t stream),
           (dst, value, extent, stream)) {
  return vgpu::fill_3d(dst, value, extent, on(stream));
}
