// Texture and surface objects.
#include <limits>
#include <map>
#include <mutex>

#include "api.h"
#include "arrays.h"
#include "connection.h"
#include "properties.h"
#include "protocol_texture.h"

namespace {

using vgpu::Connection;
using vgpu::wire::Request;
using vgpu::wire::Texture;
namespace wire = vgpu::wire;

// What objects were made from, for the questions about them.
struct Made {
  cudaResourceDesc resource;
  cudaTextureDesc texture;
  cudaResourceViewDesc view;
};
std::mutex made_mutex;
std::map<uint64_t, Made>& made() {
  static auto* const objects = new std::map<uint64_t, Made>;
  return *objects;
}

cudaError_t refuse(const char* what, bool* warned) {
  return static_cast<cudaError_t>(vgpu::not_supported(what, warned));
}

bool describe_format(const cudaChannelFormatDesc& f, Texture* t) {
  if (f.f > cudaChannelFormatKindFloat) return false;
  t->channels = static_cast<uint32_t>((f.x != 0) + (f.y != 0) + (f.z != 0) + (f.w != 0));
  t->channel_bits = static_cast<uint32_t>(f.x);
  t->format = static_cast<wire::ChannelFormat>(f.f);
  return true;
}

cudaError_t describe_resource(const cudaResourceDesc& resource, Texture* t) {
  t->width = t->height = t->depth = 1;
  switch (resource.resType) {
    case cudaResourceTypeArray: {
      const cudaArray* const array = resource.res.array.array;
      if (array == nullptr || !describe_format(array->format, t)) return cudaErrorInvalidValue;
      t->address = array->address;
      t->pitch = vgpu::pitch_of(*array);
      t->width = static_cast<uint32_t>(array->extent.width);
      t->height = static_cast<uint32_t>(vgpu::rows_of(*array));
      t->depth = static_cast<uint32_t>(vgpu::slices_of(*array));
      t->is_layered = (array->flags & cudaArrayLayered) != 0;
      return cudaSuccess;
    }
    case cudaResourceTypeLinear: {
      const auto& linear = resource.res.linear;
      if (!describe_format(linear.desc, t)) return cudaErrorInvalidValue;
      const size_t texels = linear.sizeInBytes / std::max<size_t>(1, vgpu::element_bytes(linear.desc));
      if (texels > std::numeric_limits<uint32_t>::max()) return cudaErrorInvalidValue;
      t->address = reinterpret_cast<uint64_t>(linear.devPtr);
      if (t->address % vgpu::kTextureAlignment != 0) return cudaErrorInvalidValue;
      t->width = static_cast<uint32_t>(texels);
      t->is_linear = 1;
      return cudaSuccess;
    }
    case cudaResourceTypePitch2D: {
      const auto& pitched = resource.res.pitch2D;
      if (!describe_format(pitched.desc, t)) return cudaErrorInvalidValue;
      t->address = reinterpret_cast<uint64_t>(pitched.devPtr);
      if (t->address % vgpu::kTextureAlignment != 0 ||
          pitched.pitchInBytes % vgpu::kTexturePitchAlignment != 0 || pitched.width > 131072 ||
          pitched.height > 65000)
        return cudaErrorInvalidValue;
      t->pitch = pitched.pitchInBytes;
      t->width = static_cast<uint32_t>(pitched.width);
      t->height = static_cast<uint32_t>(pitched.height);
      return cudaSuccess;
    }
    default: {
      static bool warned = false;
      return refuse("a texture of a mipmapped array", &warned);
    }
  }
}

cudaError_t describe_sampling(const cudaTextureDesc& texture, Texture* t) {
  if (texture.sRGB != 0) {
    static bool warned = false;
    return refuse("a texture with sRGB", &warned);
  }
  if (texture.maxAnisotropy > 1) {
    static bool warned = false;
    return refuse("a texture with anisotropic filtering", &warned);
  }
  for (int i = 0; i < 3; ++i) t->modes[i] = static_cast<wire::AddressMode>(texture.addressMode[i]);
  t->filter = static_cast<wire::FilterMode>(texture.filterMode);
  t->read = static_cast<wire::ReadMode>(texture.readMode);
  t->normalized = texture.normalizedCoords != 0;
  for (int i = 0; i < 4; ++i) t->border[i] = texture.borderColor[i];
  const bool gives_floats = t->format == wire::ChannelFormat::kFloat ||
                            (t->read == wire::ReadMode::kNormalizedFloat && t->channel_bits < 32);
  return t->filter == wire::FilterMode::kLinear && !gives_floats ? cudaErrorInvalidFilterSetting
                                                                 : cudaSuccess;
}

cudaError_t create(const Texture& texture, const Made& from, unsigned long long* object) {
  wire::Id id{};
  const cudaError_t error = Connection::get().ask(Request::kTextureCreate, texture, &id);
  if (error != cudaSuccess) return error;
  const std::lock_guard<std::mutex> lock(made_mutex);
  made()[id.id] = from;
  *object = id.id;
  return cudaSuccess;
}

cudaError_t destroy(unsigned long long object) {
  if (object == 0) return cudaSuccess;
  const cudaError_t error = Connection::get().ask(Request::kTextureDestroy, wire::Id{object});
  const std::lock_guard<std::mutex> lock(made_mutex);
  if (error == cudaSuccess) made().erase(object);
  return error;
}

template <class Part>
cudaError_t tell(unsigned long long object, Part Made::* part, Part* out) {
  const std::lock_guard<std::mutex> lock(made_mutex);
  const auto found = made().find(object);
  if (out == nullptr || found == made().end()) return cudaErrorInvalidValue;
  *out = found->second.*part;
  return cudaSuccess;
}

}  // namespace

VGPU_ENTRY(cudaCreateTextureObject,
           (cudaTextureObject_t * object, const cudaResourceDesc* resource, const cudaTextureDesc* texture,
            const cudaResourceViewDesc* view),
           (object, resource, texture, view)) {
  if (object == nullptr || resource == nullptr || texture == nullptr) return cudaErrorInvalidValue;
  *object = 0;
  if (view != nullptr && view->format != cudaResViewFormatNone) {
    static bool warned = false;
    return refuse("cudaCreateTextureObject with a resource view", &warned);
  }
  Texture description{};
  cudaError_t error = describe_resource(*resource, &description);
  if (error == cudaSuccess) error = describe_sampling(*texture, &description);
  if (error != cudaSuccess) return error;
  return create(description, {*resource, *texture, view != nullptr ? *view : cudaResourceViewDesc{}}, object);
}

VGPU_ENTRY(cudaDestroyTextureObject, (cudaTextureObject_t object), (object)) {
  return destroy(object);
}

VGPU_ENTRY(cudaGetTextureObjectResourceDesc, (cudaResourceDesc * resource, cudaTextureObject_t object),
           (resource, object)) {
  return tell(object, &Made::resource, resource);
}

VGPU_ENTRY(cudaGetTextureObjectTextureDesc, (cudaTextureDesc * texture, cudaTextureObject_t object),
           (texture, object)) {
  return tell(object, &Made::texture, texture);
}

VGPU_ENTRY(cudaGetTextureObjectResourceViewDesc, (cudaResourceViewDesc * view, cudaTextureObject_t object),
           (view, object)) {
  return tell(object, &Made::view, view);
}

VGPU_ENTRY(cudaCreateSurfaceObject, (cudaSurfaceObject_t * object, const cudaResourceDesc* resource),
           (object, resource)) {
  if (object == nullptr || resource == nullptr) return cudaErrorInvalidValue;
  *object = 0;
  if (resource->resType != cudaResourceTypeArray) return cudaErrorInvalidValue;
  Texture description{};
  const cudaError_t error = describe_resource(*resource, &description);
  if (error != cudaSuccess) return error;
  description.is_surface = 1;
  return create(description, {*resource, {}, {}}, object);
}

VGPU_ENTRY(cudaDestroySurfaceObject, (cudaSurfaceObject_t object), (object)) {
  return destroy(object);
}

VGPU_ENTRY(cudaGetSurfaceObjectResourceDesc, (cudaResourceDesc * resource, cudaSurfaceObject_t object),
           (resource, object)) {
  return tell(object, &Made::resource, resource);
}
