// Copies and fills of the driver API.
#include "arrays.h"
#include "connection.h"
#include "copies.h"
#include "driver/driver.h"
#include "pointers.h"

namespace {

using vgpu::answer;
using vgpu::pointer;
using vgpu::Timing;

CUresult copy_bytes(CUdeviceptr dst, CUdeviceptr src, size_t bytes, uint64_t stream, Timing timing,
                    cudaMemcpyKind kind = cudaMemcpyDefault) {
  return answer(vgpu::copy({pointer(dst), pointer(src), bytes, 1, 0, 0, kind, stream, timing}));
}

CUdeviceptr host_address(const void* host) {
  return reinterpret_cast<CUdeviceptr>(host);
}

// One side of a copy of rows: its first byte, and how far rows and slices are apart.
struct Rows {
  char* first = nullptr;
  size_t pitch = 0, slice = 0;
};

// Where rows lie: in an array, whose pitch is its own, or in memory with the pitch that the plan gives.
struct Memory {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  CUarray array;
  size_t pitch, height;
};

Rows rows_of(const Memory& memory, size_t x, size_t y, size_t z) {
  size_t pitch = memory.pitch, slice = memory.pitch * memory.height;
  auto* base = static_cast<char*>(memory.type == CU_MEMORYTYPE_HOST ? const_cast<void*>(memory.host)
                                                                    : pointer(memory.device));
  if (memory.type == CU_MEMORYTYPE_ARRAY) {
    const auto& array = *reinterpret_cast<const cudaArray*>(memory.array);
    pitch = vgpu::pitch_of(array);
    slice = pitch * vgpu::rows_of(array);
    base = static_cast<char*>(pointer(array.address));
  }
  return {base + z * slice + y * pitch + x, pitch, slice};
}

bool lacks_array(CUmemorytype type, CUarray array) {
  return type == CU_MEMORYTYPE_ARRAY && array == nullptr;
}

CUresult copy_rows(const Rows& dst, const Rows& src, size_t width, size_t height, size_t depth,
                   uint64_t stream, Timing timing) {
  if (width == 0 || height == 0 || depth == 0) return CUDA_SUCCESS;
  for (size_t z = 0; z < depth; ++z) {
    const cudaError_t error =
        vgpu::copy({dst.first + z * dst.slice, src.first + z * src.slice, width, height,
                    dst.pitch == 0 ? width : dst.pitch, src.pitch == 0 ? width : src.pitch, cudaMemcpyDefault,
                    stream, timing});
    if (error != cudaSuccess) return answer(error);
  }
  return CUDA_SUCCESS;
}

CUresult copy_2d_plan(const CUDA_MEMCPY2D* p, uint64_t stream, Timing timing) {
  if (p == nullptr || lacks_array(p->dstMemoryType, p->dstArray) ||
      lacks_array(p->srcMemoryType, p->srcArray))
    return CUDA_ERROR_INVALID_VALUE;
  const Rows dst = rows_of({p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray, p->dstPitch, 0},
                           p->dstXInBytes, p->dstY, 0);
  const Rows src = rows_of({p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray, p->srcPitch, 0},
                           p->srcXInBytes, p->srcY, 0);
  return copy_rows(dst, src, p->WidthInBytes, p->Height, 1, stream, timing);
}

CUresult copy_3d_plan(const CUDA_MEMCPY3D* p, uint64_t stream, Timing timing) {
  if (p == nullptr || lacks_array(p->dstMemoryType, p->dstArray) ||
      lacks_array(p->srcMemoryType, p->srcArray))
    return CUDA_ERROR_INVALID_VALUE;
  const Rows dst =
      rows_of({p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray, p->dstPitch, p->dstHeight},
              p->dstXInBytes, p->dstY, p->dstZ);
  const Rows src =
      rows_of({p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray, p->srcPitch, p->srcHeight},
              p->srcXInBytes, p->srcY, p->srcZ);
  return copy_rows(dst, src, p->WidthInBytes, p->Height, p->Depth, stream, timing);
}

struct Elements {
  uint32_t bytes, value;
};

CUresult fill_elements(CUdeviceptr dst, size_t pitch, Elements element, size_t width, size_t height,
                       uint64_t stream) {
  if (width == 0 || height == 0) return CUDA_SUCCESS;
  const vgpu::PointerClass place = vgpu::classify(pointer(dst));
  if (dst == 0 || place == vgpu::PointerClass::kPageable || dst % element.bytes != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (height > 1 && pitch < width * element.bytes) return CUDA_ERROR_INVALID_VALUE;
  vgpu::wire::Memset message{};
  message.dst = dst;
  message.pitch = pitch;
  message.width = width;
  message.height = height;
  message.stream = stream;
  message.value = element.value;
  message.element_bytes = element.bytes;
  message.async = place == vgpu::PointerClass::kDevice;
  return answer(vgpu::Connection::get().ask(vgpu::wire::Request::kMemset, message));
}

}  // namespace

VGPU_DRIVER_TWINS(cuMemcpy, _ptds, (CUdeviceptr dst, CUdeviceptr src, size_t bytes), (dst, src, bytes)) {
  return copy_bytes(dst, src, bytes, on_default(), Timing::kSync);
}

VGPU_DRIVER_TWINS(cuMemcpyAsync, _ptsz, (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream),
                  (dst, src, bytes, stream)) {
  return copy_bytes(dst, src, bytes, on(stream), Timing::kAsync);
}

VGPU_DRIVER_TWINS(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr dst, const void* src, size_t bytes),
                  (dst, src, bytes)) {
  return copy_bytes(dst, host_address(src), bytes, on_default(), Timing::kSync, cudaMemcpyHostToDevice);
}

VGPU_DRIVER_TWINS(cuMemcpyDtoH_v2, _ptds, (void* dst, CUdeviceptr src, size_t bytes), (dst, src, bytes)) {
  return copy_bytes(host_address(dst), src, bytes, on_default(), Timing::kSync, cudaMemcpyDeviceToHost);
}

VGPU_DRIVER_TWINS(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr dst, CUdeviceptr src, size_t bytes),
                  (dst, src, bytes)) {
  return copy_bytes(dst, src, bytes, on_default(), Timing::kSync, cudaMemcpyDeviceToDevice);
}

VGPU_DRIVER_TWINS(cuMemcpyHtoDAsync_v2, _ptsz,
                  (CUdeviceptr dst, const void* src, size_t bytes, CUstream stream),
                  (dst, src, bytes, stream)) {
  return copy_bytes(dst, host_address(src), bytes, on(stream), Timing::kAsync, cudaMemcpyHostToDevice);
}

VGPU_DRIVER_TWINS(cuMemcpyDtoHAsync_v2, _ptsz, (void* dst, CUdeviceptr src, size_t bytes, CUstream stream),
                  (dst, src, bytes, stream)) {
  return copy_bytes(host_address(dst), src, bytes, on(stream), Timing::kAsync, cudaMemcpyDeviceToHost);
}

VGPU_DRIVER_TWINS(cuMemcpyDtoDAsync_v2, _ptsz,
                  (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream),
                  (dst, src, bytes, stream)) {
  return copy_bytes(dst, src, bytes, on(stream), Timing::kAsync, cudaMemcpyDeviceToDevice);
}

VGPU_DRIVER_TWINS(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D* plan), (plan)) {
  return copy_2d_plan(plan, on_default(), Timing::kSync);
}

VGPU_DRIVER_TWINS(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D* plan), (plan)) {
  return copy_2d_plan(plan, on_default(), Timing::kSync);
}

VGPU_DRIVER_TWINS(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D* plan, CUstream stream), (plan, stream)) {
  return copy_2d_plan(plan, on(stream), Timing::kAsync);
}

VGPU_DRIVER_TWINS(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D* plan), (plan)) {
  return copy_3d_plan(plan, on_default(), Timing::kSync);
}

VGPU_DRIVER_TWINS(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D* plan, CUstream stream), (plan, stream)) {
  return copy_3d_plan(plan, on(stream), Timing::kAsync);
}

VGPU_DRIVER_TWINS(cuMemsetD8_v2, _ptds, (CUdeviceptr dst, unsigned char value, size_t count),
                  (dst, value, count)) {
  return fill_elements(dst, 0, {1, value}, count, 1, on_default());
}

VGPU_DRIVER_TWINS(cuMemsetD16_v2, _ptds, (CUdeviceptr dst, unsigned short value, size_t count),
                  (dst, value, count)) {
  return fill_elements(dst, 0, {2, value}, count, 1, on_default());
}

VGPU_DRIVER_TWINS(cuMemsetD32_v2, _ptds, (CUdeviceptr dst, unsigned value, size_t count),
                  (dst, value, count)) {
  return fill_elements(dst, 0, {4, value}, count, 1, on_default());
}

VGPU_DRIVER_TWINS(cuMemsetD2D8_v2, _ptds,
                  (CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height),
                  (dst, pitch, value, width, height)) {
  return fill_elements(dst, pitch, {1, value}, width, height, on_default());
}

VGPU_DRIVER_TWINS(cuMemsetD2D16_v2, _ptds,
                  (CUdeviceptr dst, size_t pitch, unsigned short value, size_t width, size_t height),
                  (dst, pitch, value, width, height)) {
  return fill_elements(dst, pitch, {2, value}, width, height, on_default());
}

VGPU_DRIVER_TWINS(cuMemsetD2D32_v2, _ptds,
                  (CUdeviceptr dst, size_t pitch, unsigned value, size_t width, size_t height),
                  (dst, pitch, value, width, height)) {
  return fill_elements(dst, pitch, {4, value}, width, height, on_default());
}

VGPU_DRIVER_TWINS(cuMemsetD8Async, _ptsz,
                  (CUdeviceptr dst, unsigned char value, size_t count, CUstream stream),
                  (dst, value, count, stream)) {
  return fill_elements(dst, 0, {1, value}, count, 1, on(stream));
}

VGPU_DRIVER_TWINS(cuMemsetD16Async, _ptsz,
                  (CUdeviceptr dst, unsigned short value, size_t count, CUstream stream),
                  (dst, value, count, stream)) {
  return fill_elements(dst, 0, {2, value}, count, 1, on(stream));
}

VGPU_DRIVER_TWINS(cuMemsetD32Async, _ptsz, (CUdeviceptr dst, unsigned value, size_t count, CUstream stream),
                  (dst, value, count, stream)) {
  return fill_elements(dst, 0, {4, value}, count, 1, on(stream));
}

VGPU_DRIVER_TWINS(cuMemsetD2D8Async, _ptsz,
                  (CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height,
                   CUstream stream),
                  (dst, pitch, value, width, height, stream)) {
  return fill_elements(dst, pitch, {1, value}, width, height, on(stream));
}

VGPU_DRIVER_TWINS(cuMemsetD2D32Async, _ptsz,
                  (CUdeviceptr dst, size_t pitch, unsigned value, size_t width, size_t height,
                   CUstream stream),
                  (dst, pitch, value, width, height, stream)) {
  return fill_elements(dst, pitch, {4, value}, width, height, on(stream));
}
