// Arrays, texture and surface objects of the driver API. A CUarray is a cudaArray_t under another name.
#include "arrays.h"
#include "driver/driver.h"

namespace {

using vgpu::answer;
using vgpu::pointer;

cudaArray_t as_runtime(CUarray array) {
  return reinterpret_cast<cudaArray_t>(array);
}

struct Format {
  CUarray_format format;
  int bits;
  cudaChannelFormatKind kind;
};
constexpr Format kFormats[] = {
    {CU_AD_FORMAT_UNSIGNED_INT8, 8, cudaChannelFormatKindUnsigned},
    {CU_AD_FORMAT_UNSIGNED_INT16, 16, cudaChannelFormatKindUnsigned},
    {CU_AD_FORMAT_UNSIGNED_INT32, 32, cudaChannelFormatKindUnsigned},
    {CU_AD_FORMAT_SIGNED_INT8, 8, cudaChannelFormatKindSigned},
    {CU_AD_FORMAT_SIGNED_INT16, 16, cudaChannelFormatKindSigned},
    {CU_AD_FORMAT_SIGNED_INT32, 32, cudaChannelFormatKindSigned},
    {CU_AD_FORMAT_HALF, 16, cudaChannelFormatKindFloat},
    {CU_AD_FORMAT_FLOAT, 32, cudaChannelFormatKindFloat},
};

bool channels_of(CUarray_format format, unsigned count, cudaChannelFormatDesc* out) {
  for (const Format& row : kFormats) {
    if (row.format != format) continue;
    const auto bits = [&](unsigned channel) { return channel < count ? row.bits : 0; };
    *out = {bits(0), bits(1), bits(2), bits(3), row.kind};
    return true;
  }
  return false;
}

CUresult create(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* wanted) {
  cudaChannelFormatDesc channels{};
  if (array == nullptr || wanted == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!channels_of(wanted->Format, wanted->NumChannels, &channels)) return CUDA_ERROR_INVALID_VALUE;
  return answer(cudaMalloc3DArray(reinterpret_cast<cudaArray_t*>(array), &channels,
                                  {wanted->Width, wanted->Height, wanted->Depth}, wanted->Flags));
}

CUresult describe(CUDA_ARRAY3D_DESCRIPTOR* out, CUarray array) {
  if (out == nullptr || array == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaArray& known = *as_runtime(array);
  *out = {};
  out->Width = known.extent.width;
  out->Height = known.extent.height;
  out->Depth = known.extent.depth;
  out->Flags = known.flags;
  const cudaChannelFormatDesc& f = known.format;
  out->NumChannels = static_cast<unsigned>((f.x != 0) + (f.y != 0) + (f.z != 0) + (f.w != 0));
  for (const Format& row : kFormats)
    if (row.bits == f.x && row.kind == f.f) out->Format = row.format;
  return CUDA_SUCCESS;
}

bool resource_of(const CUDA_RESOURCE_DESC* given, cudaResourceDesc* out) {
  if (given == nullptr) return false;
  switch (given->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
      out->resType = cudaResourceTypeArray;
      out->res.array.array = as_runtime(given->res.array.hArray);
      return true;
    case CU_RESOURCE_TYPE_LINEAR:
      out->resType = cudaResourceTypeLinear;
      out->res.linear.devPtr = pointer(given->res.linear.devPtr);
      out->res.linear.sizeInBytes = given->res.linear.sizeInBytes;
      return channels_of(given->res.linear.format, given->res.linear.numChannels, &out->res.linear.desc);
    case CU_RESOURCE_TYPE_PITCH2D:
      out->resType = cudaResourceTypePitch2D;
      out->res.pitch2D.devPtr = pointer(given->res.pitch2D.devPtr);
      out->res.pitch2D.width = given->res.pitch2D.width;
      out->res.pitch2D.height = given->res.pitch2D.height;
      out->res.pitch2D.pitchInBytes = given->res.pitch2D.pitchInBytes;
      return channels_of(given->res.pitch2D.format, given->res.pitch2D.numChannels, &out->res.pitch2D.desc);
    default:
      return false;
  }
}

// The driver reads whole numbers as parts of 1 unless a flag says otherwise; the runtime asks the other way
// round.
cudaTextureDesc sampling_of(const CUDA_TEXTURE_DESC& given, const cudaResourceDesc& resource) {
  cudaTextureDesc out{};
  for (int i = 0; i < 3; ++i) out.addressMode[i] = static_cast<cudaTextureAddressMode>(given.addressMode[i]);
  out.filterMode = static_cast<cudaTextureFilterMode>(given.filterMode);
  const cudaChannelFormatDesc& channels =
      resource.resType == cudaResourceTypeArray    ? resource.res.array.array->format
      : resource.resType == cudaResourceTypeLinear ? resource.res.linear.desc
                                                   : resource.res.pitch2D.desc;
  const bool whole = channels.f != cudaChannelFormatKindFloat && channels.x < 32;
  out.readMode = whole && (given.flags & CU_TRSF_READ_AS_INTEGER) == 0 ? cudaReadModeNormalizedFloat
                                                                       : cudaReadModeElementType;
  out.normalizedCoords = (given.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
  out.sRGB = (given.flags & CU_TRSF_SRGB) != 0;
  out.maxAnisotropy = given.maxAnisotropy;
  for (int i = 0; i < 4; ++i) out.borderColor[i] = given.borderColor[i];
  return out;
}

}  // namespace

VGPU_DRIVER(cuArrayCreate_v2, kContext, (CUarray * array, const CUDA_ARRAY_DESCRIPTOR* wanted),
            (array, wanted)) {
  if (wanted == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_ARRAY3D_DESCRIPTOR flat{wanted->Width,  wanted->Height,      0,
                                     wanted->Format, wanted->NumChannels, 0};
  return create(array, &flat);
}

VGPU_DRIVER(cuArray3DCreate_v2, kContext, (CUarray * array, const CUDA_ARRAY3D_DESCRIPTOR* wanted),
            (array, wanted)) {
  return create(array, wanted);
}

VGPU_DRIVER(cuArrayGetDescriptor_v2, kContext, (CUDA_ARRAY_DESCRIPTOR * out, CUarray array), (out, array)) {
  CUDA_ARRAY3D_DESCRIPTOR all{};
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = describe(&all, array);
  if (result == CUDA_SUCCESS) *out = {all.Width, all.Height, all.Format, all.NumChannels};
  return result;
}

VGPU_DRIVER(cuArray3DGetDescriptor_v2, kContext, (CUDA_ARRAY3D_DESCRIPTOR * out, CUarray array),
            (out, array)) {
  return describe(out, array);
}

VGPU_DRIVER(cuArrayDestroy, kContext, (CUarray array), (array)) {
  return array == nullptr ? CUDA_ERROR_INVALID_HANDLE : answer(cudaFreeArray(as_runtime(array)));
}

VGPU_DRIVER(cuTexObjectCreate, kContext,
            (CUtexObject * object, const CUDA_RESOURCE_DESC* resource, const CUDA_TEXTURE_DESC* texture,
             const CUDA_RESOURCE_VIEW_DESC* view),
            (object, resource, texture, view)) {
  cudaResourceDesc from{};
  if (object == nullptr || texture == nullptr || !resource_of(resource, &from))
    return CUDA_ERROR_INVALID_VALUE;
  if (view != nullptr && view->format != CU_RES_VIEW_FORMAT_NONE) {
    static bool warned = false;
    return static_cast<CUresult>(
        vgpu::driver_not_supported("cuTexObjectCreate with a resource view", &warned));
  }
  const cudaTextureDesc sampling = sampling_of(*texture, from);
  return answer(cudaCreateTextureObject(object, &from, &sampling, nullptr));
}

VGPU_DRIVER(cuTexObjectDestroy, kContext, (CUtexObject object), (object)) {
  return answer(cudaDestroyTextureObject(object));
}

VGPU_DRIVER(cuSurfObjectCreate, kContext, (CUsurfObject * object, const CUDA_RESOURCE_DESC* resource),
            (object, resource)) {
  cudaResourceDesc from{};
  if (object == nullptr || !resource_of(resource, &from)) return CUDA_ERROR_INVALID_VALUE;
  return answer(cudaCreateSurfaceObject(object, &from));
}

VGPU_DRIVER(cuSurfObjectDestroy, kContext, (CUsurfObject object), (object)) {
  return answer(cudaDestroySurfaceObject(object));
}
