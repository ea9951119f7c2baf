// Arrays: allocation, questions, and copies to and from them.
#include "arrays.h"

#include <algorithm>
#include <limits>

#include "api.h"
#include "connection.h"
#include "copies.h"

namespace vgpu {

size_t element_bytes(const cudaChannelFormatDesc& format) {
  return static_cast<size_t>(format.x + format.y + format.z + format.w) / 8;
}

size_t rows_of(const cudaArray& array) {
  return std::max<size_t>(1, array.extent.height);
}

size_t slices_of(const cudaArray& array) {
  return std::max<size_t>(1, array.extent.depth);
}

size_t pitch_of(const cudaArray& array) {
  return array.extent.width * element_bytes(array.format);
}

namespace {

cudaPitchedPtr as_pitched(const cudaArray& array) {
  const size_t pitch = pitch_of(array);
  return {reinterpret_cast<void*>(array.address), pitch, pitch, rows_of(array)};
}

bool fits(const cudaArray& array, const cudaPos& position, const cudaExtent& bytes) {
  return position.x + bytes.width <= pitch_of(array) && position.y + bytes.height <= rows_of(array) &&
         position.z + bytes.depth <= slices_of(array);
}

}  // namespace

// With an array, positions in it and all widths count its elements; positions in plain memory count bytes.
cudaError_t without_arrays(cudaMemcpy3DParms* p) {
  const cudaArray* const src = p->srcArray;
  const cudaArray* const dst = p->dstArray;
  if ((src != nullptr && p->srcPtr.ptr != nullptr) || (dst != nullptr && p->dstPtr.ptr != nullptr))
    return cudaErrorInvalidValue;
  const size_t size = element_bytes((src != nullptr ? src : dst)->format);
  if (src != nullptr && dst != nullptr && element_bytes(dst->format) != size) return cudaErrorInvalidValue;
  p->extent.width *= size;
  if (src != nullptr) p->srcPos.x *= size;
  if (dst != nullptr) p->dstPos.x *= size;
  if ((src != nullptr && !fits(*src, p->srcPos, p->extent)) ||
      (dst != nullptr && !fits(*dst, p->dstPos, p->extent)))
    return cudaErrorInvalidValue;
  if (src != nullptr) p->srcPtr = as_pitched(*src);
  if (dst != nullptr) p->dstPtr = as_pitched(*dst);
  p->srcArray = p->dstArray = nullptr;
  return cudaSuccess;
}

}  // namespace vgpu

namespace {

using vgpu::Connection;
using vgpu::CopyPlan;
using vgpu::Timing;
using vgpu::wire::Request;
namespace wire = vgpu::wire;

constexpr unsigned kKnownFlags =
    cudaArrayLayered | cudaArraySurfaceLoadStore | cudaArrayTextureGather | cudaArrayCubemap;

bool is_format(const cudaChannelFormatDesc& f) {
  const int bits[] = {f.x, f.y, f.z, f.w};
  int channels = 0;
  while (channels < 4 && bits[channels] != 0) ++channels;
  if (channels == 0 || channels == 3 || (f.x != 8 && f.x != 16 && f.x != 32)) return false;
  for (int i = 0; i < 4; ++i)
    if (bits[i] != (i < channels ? f.x : 0)) return false;
  return f.f == cudaChannelFormatKindSigned || f.f == cudaChannelFormatKindUnsigned ||
         (f.f == cudaChannelFormatKindFloat && f.x != 8);
}

// The sizes that an H200 takes; it takes any depth.
bool has_sizes(const cudaExtent& extent, unsigned flags) {
  const bool is_layered = (flags & cudaArrayLayered) != 0;
  if ((flags & cudaArrayCubemap) != 0 &&
      (extent.width != extent.height || extent.depth % 6 != 0 || extent.depth == 0))
    return false;
  if (is_layered) return extent.width <= 32768 && extent.height <= 32768 && extent.depth <= 2048;
  if (extent.depth > 0) return extent.width <= 16384 && extent.height <= 16384;
  return extent.width <= 131072 && extent.height <= 65536;
}

cudaError_t make(cudaArray_t* out, const cudaChannelFormatDesc* format, const cudaExtent& extent,
                 unsigned flags) {
  if (out == nullptr || format == nullptr) return cudaErrorInvalidValue;
  *out = nullptr;
  if (!is_format(*format)) return cudaErrorInvalidChannelDescriptor;
  if (extent.width == 0 || (flags & ~kKnownFlags) != 0 || !has_sizes(extent, flags))
    return cudaErrorInvalidValue;
  if ((flags & cudaArrayCubemap) != 0) {
    static bool warned = false;
    return static_cast<cudaError_t>(vgpu::not_supported("cudaMalloc3DArray with cudaArrayCubemap", &warned));
  }
  const cudaArray array{0, *format, extent, flags};
  size_t bytes = 0;
  if (__builtin_mul_overflow(vgpu::pitch_of(array), vgpu::rows_of(array), &bytes) ||
      __builtin_mul_overflow(bytes, vgpu::slices_of(array), &bytes))
    return cudaErrorMemoryAllocation;
  wire::Address answer{};
  const cudaError_t error =
      Connection::get().ask(Request::kMalloc, wire::Malloc{bytes, wire::MemoryKind::kArray, 0, 0}, &answer);
  if (error != cudaSuccess) return error;
  *out = new cudaArray{answer.address, *format, extent, flags};
  return cudaSuccess;
}

// Rows of bytes to, from or between arrays; offsets into an array are bytes and rows.
struct Place {
  const cudaArray* array;
  size_t x, y;
};

char* address_of(const Place& place) {
  return reinterpret_cast<char*>(place.array->address) + place.y * vgpu::pitch_of(*place.array) + place.x;
}

bool holds(const Place& place, size_t width, size_t height) {
  return place.array != nullptr && place.x + width <= vgpu::pitch_of(*place.array) &&
         place.y + height <= vgpu::rows_of(*place.array);
}

cudaError_t to_array(const Place& to, const void* src, size_t pitch, size_t width, size_t height,
                     cudaMemcpyKind kind, uint64_t stream, Timing timing) {
  if (!holds(to, width, height)) return cudaErrorInvalidValue;
  return vgpu::copy(
      {address_of(to), src, width, height, vgpu::pitch_of(*to.array), pitch, kind, stream, timing});
}

cudaError_t from_array(void* dst, size_t pitch, const Place& from, size_t width, size_t height,
                       cudaMemcpyKind kind, uint64_t stream, Timing timing) {
  if (!holds(from, width, height)) return cudaErrorInvalidValue;
  return vgpu::copy(
      {dst, address_of(from), width, height, pitch, vgpu::pitch_of(*from.array), kind, stream, timing});
}

// A run of bytes that goes on in the next row: rows of an array lie one behind another.
bool holds_run(const Place& place, size_t bytes) {
  if (place.array == nullptr) return false;
  const size_t pitch = vgpu::pitch_of(*place.array), begin = place.y * pitch + place.x;
  return bytes <= pitch * vgpu::rows_of(*place.array) - std::min(begin, pitch * vgpu::rows_of(*place.array));
}

cudaError_t run_to_array(const Place& to, const void* src, size_t bytes, cudaMemcpyKind kind, uint64_t stream,
                         Timing timing) {
  if (!holds_run(to, bytes)) return cudaErrorInvalidValue;
  return vgpu::copy({address_of(to), src, bytes, 1, 0, 0, kind, stream, timing});
}

cudaError_t run_from_array(void* dst, const Place& from, size_t bytes, cudaMemcpyKind kind, uint64_t stream,
                           Timing timing) {
  if (!holds_run(from, bytes)) return cudaErrorInvalidValue;
  return vgpu::copy({dst, address_of(from), bytes, 1, 0, 0, kind, stream, timing});
}

}  // namespace

VGPU_ENTRY(cudaMallocArray,
           (cudaArray_t * array, const cudaChannelFormatDesc* format, size_t width, size_t height,
            unsigned flags),
           (array, format, width, height, flags)) {
  if ((flags & cudaArrayLayered) != 0) return cudaErrorInvalidValue;
  return make(array, format, {width, height, 0}, flags);
}

VGPU_ENTRY(cudaMalloc3DArray,
           (cudaArray_t * array, const cudaChannelFormatDesc* format, cudaExtent extent, unsigned flags),
           (array, format, extent, flags)) {
  return make(array, format, extent, flags);
}

VGPU_ENTRY(cudaFreeArray, (cudaArray_t array), (array)) {
  if (array == nullptr) return cudaSuccess;
  const cudaError_t error =
      Connection::get().ask(Request::kFree, wire::Free{array->address, wire::MemoryKind::kDevice, 0, 0});
  if (error == cudaSuccess) delete array;
  return error;
}

VGPU_ENTRY(cudaArrayGetInfo,
           (cudaChannelFormatDesc * format, cudaExtent* extent, unsigned* flags, cudaArray_t array),
           (format, extent, flags, array)) {
  if (array == nullptr) return cudaErrorInvalidValue;
  if (format != nullptr) *format = array->format;
  if (extent != nullptr) *extent = array->extent;
  if (flags != nullptr) *flags = array->flags;
  return cudaSuccess;
}

VGPU_ENTRY(cudaGetChannelDesc, (cudaChannelFormatDesc * format, cudaArray_const_t array), (format, array)) {
  if (format == nullptr || array == nullptr) return cudaErrorInvalidValue;
  *format = array->format;
  return cudaSuccess;
}

VGPU_TWINS(cudaMemcpy2DToArray, _ptds,
           (cudaArray_t dst, size_t x, size_t y, const void* src, size_t pitch, size_t width, size_t height,
            cudaMemcpyKind kind),
           (dst, x, y, src, pitch, width, height, kind)) {
  return to_array({dst, x, y}, src, pitch, width, height, kind, on_default(), Timing::kSync);
}

VGPU_TWINS(cudaMemcpy2DToArrayAsync, _ptsz,
           (cudaArray_t dst, size_t x, size_t y, const void* src, size_t pitch, size_t width, size_t height,
            cudaMemcpyKind kind, cudaStream_t stream),
           (dst, x, y, src, pitch, width, height, kind, stream)) {
  return to_array({dst, x, y}, src, pitch, width, height, kind, on(stream), Timing::kAsync);
}

VGPU_TWINS(cudaMemcpy2DFromArray, _ptds,
           (void* dst, size_t pitch, cudaArray_const_t src, size_t x, size_t y, size_t width, size_t height,
            cudaMemcpyKind kind),
           (dst, pitch, src, x, y, width, height, kind)) {
  return from_array(dst, pitch, {src, x, y}, width, height, kind, on_default(), Timing::kSync);
}

VGPU_TWINS(cudaMemcpy2DFromArrayAsync, _ptsz,
           (void* dst, size_t pitch, cudaArray_const_t src, size_t x, size_t y, size_t width, size_t height,
            cudaMemcpyKind kind, cudaStream_t stream),
           (dst, pitch, src, x, y, width, height, kind, stream)) {
  return from_array(dst, pitch, {src, x, y}, width, height, kind, on(stream), Timing::kAsync);
}

VGPU_TWINS(cudaMemcpy2DArrayToArray, _ptds,
           (cudaArray_t dst, size_t dst_x, size_t dst_y, cudaArray_const_t src, size_t src_x, size_t src_y,
            size_t width, size_t height, cudaMemcpyKind kind),
           (dst, dst_x, dst_y, src, src_x, src_y, width, height, kind)) {
  const Place from{src, src_x, src_y};
  if (!holds(from, width, height)) return cudaErrorInvalidValue;
  return to_array({dst, dst_x, dst_y}, address_of(from), vgpu::pitch_of(*src), width, height, kind,
                  on_default(), Timing::kSync);
}

VGPU_TWINS(cudaMemcpyToArray, _ptds,
           (cudaArray_t dst, size_t x, size_t y, const void* src, size_t bytes, cudaMemcpyKind kind),
           (dst, x, y, src, bytes, kind)) {
  return run_to_array({dst, x, y}, src, bytes, kind, on_default(), Timing::kSync);
}

VGPU_TWINS(cudaMemcpyToArrayAsync, _ptsz,
           (cudaArray_t dst, size_t x, size_t y, const void* src, size_t bytes, cudaMemcpyKind kind,
            cudaStream_t stream),
           (dst, x, y, src, bytes, kind, stream)) {
  return run_to_array({dst, x, y}, src, bytes, kind, on(stream), Timing::kAsync);
}

VGPU_TWINS(cudaMemcpyFromArray, _ptds,
           (void* dst, cudaArray_const_t src, size_t x, size_t y, size_t bytes, cudaMemcpyKind kind),
           (dst, src, x, y, bytes, kind)) {
  return run_from_array(dst, {src, x, y}, bytes, kind, on_default(), Timing::kSync);
}

VGPU_TWINS(cudaMemcpyFromArrayAsync, _ptsz,
           (void* dst, cudaArray_const_t src, size_t x, size_t y, size_t bytes, cudaMemcpyKind kind,
            cudaStream_t stream),
           (dst, src, x, y, bytes, kind, stream)) {
  return run_from_array(dst, {src, x, y}, bytes, kind, on(stream), Timing::kAsync);
}

VGPU_TWINS(cudaMemcpyArrayToArray, _ptds,
           (cudaArray_t dst, size_t dst_x, size_t dst_y, cudaArray_const_t src, size_t src_x, size_t src_y,
            size_t bytes, cudaMemcpyKind kind),
           (dst, dst_x, dst_y, src, src_x, src_y, bytes, kind)) {
  const Place from{src, src_x, src_y};
  if (!holds_run(from, bytes)) return cudaErrorInvalidValue;
  return run_to_array({dst, dst_x, dst_y}, address_of(from), bytes, kind, on_default(), Timing::kSync);
}
