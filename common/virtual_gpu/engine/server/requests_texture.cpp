// Requests about texture and surface objects.
#include "server/dispatch.h"

namespace vgpu {
namespace {

void create_texture(Session& session, const wire::Texture& in, Reply& reply) {
  const uint64_t handle = session.memory.textures().create(in, session.memory);
  if (handle == 0) {
    reply.error = cuda::kInvalidValue;
    return;
  }
  reply.put(wire::Id{handle});
}

// Work that is queued may still use the object.
void destroy_texture(Session& session, const wire::Id& in, Reply& reply) {
  Progress progress;
  reply.error = session.streams.sync_device(&progress);
  if (reply.error != 0 || !progress.ok()) return session.answer(progress, reply);
  if (!session.memory.textures().destroy(in.id)) reply.error = cuda::kInvalidValue;
}

const RequestRow kTextureRequests[] = {
    request<&create_texture>(wire::Request::kTextureCreate),
    request<&destroy_texture>(wire::Request::kTextureDestroy),
};

}  // namespace

std::span<const RequestRow> texture_requests() {
  return kTextureRequests;
}

}  // namespace vgpu
