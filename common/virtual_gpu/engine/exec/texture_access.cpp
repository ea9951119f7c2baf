#include "exec/texture_access.h"

#include <cstring>

#include "checks/access_findings.h"
#include "checks/report.h"
#include "cuda_error.h"
#include "device/textures.h"
#include "exec/access.h"
#include "exec/texture_filter.h"
#include "ops/half_tools.h"

namespace vgpu {
namespace {

using wire::ChannelFormat;
using wire::ReadMode;
using wire::Texture;

constexpr int kTextureValues = 4;
constexpr int kCorners = 8;

// The handle that lanes agree on, one after another.
template <class Body>
void for_each_handle(Warp& w, const Op& op, Body body) {
  const uint64_t* handles = lanes_in<uint64_t>(w, op.src[0]);
  for (Mask left = w.exec; left != 0;) {
    const uint64_t handle = handles[first_lane(left)];
    Mask same = 0;
    for (Mask m = left; m != 0; m &= m - 1) same |= handles[first_lane(m)] == handle ? m & (~m + 1) : 0;
    left &= ~same;
    body(handle, same);
  }
}

float coordinate(const Warp& w, const Op& op, int index, int lane, bool is_integer) {
  uint32_t bits;
  std::memcpy(&bits, w.regs + op.list[kTextureValues + index] + lane * 4, sizeof bits);
  return is_integer ? static_cast<float>(static_cast<int32_t>(bits)) : std::bit_cast<float>(bits);
}

int32_t whole_coordinate(const Warp& w, const Op& op, int index, int lane) {
  int32_t value;
  std::memcpy(&value, w.regs + op.list[index] + lane * 4, sizeof value);
  return value;
}

// A channel as its register receives it: bits of an f32 or of a 32-bit integer.
uint32_t channel_of(const Texture& t, const uint8_t* texel, uint32_t channel) {
  if (channel >= t.channels) return 0;
  const uint32_t bytes = t.channel_bits / 8;
  uint32_t raw = 0;
  std::memcpy(&raw, texel + channel * bytes, bytes);
  if (t.format == ChannelFormat::kFloat)
    return t.channel_bits == 32
               ? raw
               : std::bit_cast<uint32_t>(ops::to_float(ops::Half{}, static_cast<uint16_t>(raw)));
  const int shift = 32 - static_cast<int>(t.channel_bits);
  const int32_t value = t.format == ChannelFormat::kSigned ? static_cast<int32_t>(raw << shift) >> shift
                                                           : static_cast<int32_t>(raw);
  if (t.read == ReadMode::kElement || t.channel_bits == 32) return static_cast<uint32_t>(value);
  const bool is_signed = t.format == ChannelFormat::kSigned;
  const float largest = static_cast<float>((1 << (t.channel_bits - (is_signed ? 1 : 0))) - 1);
  return std::bit_cast<uint32_t>(std::max(static_cast<float>(value) / largest, -1.0f));
}

uint32_t border_of(const Texture& t, uint32_t channel) {
  const bool is_float = t.format == ChannelFormat::kFloat || t.read == ReadMode::kNormalizedFloat;
  if (is_float) return std::bit_cast<uint32_t>(t.border[channel]);
  return static_cast<uint32_t>(static_cast<int32_t>(t.border[channel]));
}

// What nothing has written is reported at once: texels are mixed before they reach a register.
void report_unwritten(Warp& w, const Op& op) {
  UndefinedMemory& undefined = w.block->undefined;
  for (const LoadedByte& byte : undefined.loaded) report_undefined(*w.block, byte.what.origin, op, Use::kNow);
  undefined.loaded.clear();
}

// Reads one texel for each lane; lanes without one get nullptr.
void read_texels(Warp& w, const Op& op, const uint64_t* address, uint32_t bytes, Mask mask, bool count,
                 const uint8_t** texels) {
  std::fill(texels, texels + kLanes, nullptr);
  if (mask == 0) return;
  const Shape shape = shape_of(address, mask, bytes);
  const Mask good = check_global(w, op, address, bytes, mask, shape, Direction::kLoad);
  if (count) count_global(w, op, address, bytes, good, shape, Direction::kLoad);
  report_unwritten(w, op);
  for (Mask m = good; m != 0; m &= m - 1) texels[first_lane(m)] = DeviceMemory::host(address[first_lane(m)]);
}

// What is no handle is no address either: reported as such.
void report_bad_handle(Warp& w, const Op& op, Mask mask) {
  const uint64_t* handles = lanes_in<uint64_t>(w, op.src[0]);
  const int lane = first_lane(mask);
  set_launch_error(*w.block, cuda::kIllegalAddress);
  if (w.block->options->check_memory) checks::bad_texture(w, op, lane, handles[lane]);
  for (int v = 0; v < op.access.vec; ++v)
    if (op.list[v] != 0 && op.cls == InstrClass::kLoadGlobal)
      for (Mask m = mask; m != 0; m &= m - 1)
        std::memset(w.regs + op.list[v] + first_lane(m) * op.access.reg_bytes, 0, op.access.reg_bytes);
}

struct LaneTaps {
  Taps along[3];
  uint64_t layer = 0;
};

LaneTaps taps_of_lane(const Warp& w, const Op& op, const TextureWay& way, const Texture& t, int lane) {
  LaneTaps taps;
  const int first = way.layered ? 1 : 0;
  if (way.layered) {
    const auto layer = static_cast<int64_t>(coordinate(w, op, 0, lane, true));
    taps.layer = static_cast<uint64_t>(std::clamp<int64_t>(layer, 0, t.depth - 1));
  }
  const int64_t sizes[] = {t.width, t.height, t.depth};
  const bool linear = t.filter == wire::FilterMode::kLinear && !way.by_integers;
  for (int d = 0; d < way.dimensions; ++d) {
    if (way.by_integers) {
      const int64_t at = whole_coordinate(w, op, kTextureValues + first + d, lane);
      taps.along[d].at[0] = at;
      taps.along[d].inside[0] = at >= 0 && at < sizes[d];
    } else {
      taps.along[d] = taps_of(coordinate(w, op, first + d, lane, false), sizes[d], t.modes[d],
                              linear || way.gathered != 0, t.normalized != 0);
    }
  }
  return taps;
}

struct Corner {
  uint64_t address[kLanes];
  float weight[kLanes];
  Mask inside = 0;
};

// One of the texels between which a fetch lies: a bit of `which` for each dimension.
Corner corner_of(const Texture& t, const TextureWay& way, const LaneTaps* taps, int which, Mask mask) {
  Corner corner;
  for (Mask m = mask; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    uint64_t at[3] = {0, 0, 0};
    bool inside = true;
    corner.weight[lane] = 1;
    for (int d = 0; d < way.dimensions; ++d) {
      const Taps& along = taps[lane].along[d];
      const int side = which >> d & 1;
      at[d] = static_cast<uint64_t>(along.at[side]);
      inside &= along.inside[side];
      corner.weight[lane] *= along.weight[side];
    }
    const uint64_t slice = way.layered ? taps[lane].layer : at[2];
    corner.address[lane] = t.address + (slice * t.height + at[1]) * t.pitch + at[0] * texel_bytes(t);
    corner.inside |= static_cast<Mask>(inside) << lane;
  }
  return corner;
}

void put(Warp& w, const Op& op, int value, int lane, uint32_t bits) {
  if (op.list[value] != 0) std::memcpy(w.regs + op.list[value] + lane * 4, &bits, sizeof bits);
}

// tld4: one channel of four texels, from the lower left one against the clock.
void gather(Warp& w, const Op& op, const TextureWay& way, const Texture& t, const LaneTaps* taps, Mask mask) {
  constexpr int kOrder[] = {2, 3, 1, 0};
  for (int value = 0; value < kTextureValues; ++value) {
    const Corner corner = corner_of(t, way, taps, kOrder[value], mask);
    const uint8_t* texels[kLanes];
    read_texels(w, op, corner.address, texel_bytes(t), corner.inside, value == 0, texels);
    for (Mask m = mask; m != 0; m &= m - 1) {
      const int lane = first_lane(m);
      const uint32_t channel = way.gathered - 1u;
      put(w, op, value, lane,
          corner.inside >> lane & 1 ? (texels[lane] ? channel_of(t, texels[lane], channel) : 0)
                                    : border_of(t, channel));
    }
  }
}

void fetch(Warp& w, const Op& op, const Texture& t, Mask mask) {
  const TextureWay way = TextureWay::unpacked(op.access.offset);
  LaneTaps taps[kLanes];
  for (Mask m = mask; m != 0; m &= m - 1) taps[first_lane(m)] = taps_of_lane(w, op, way, t, first_lane(m));
  if (way.gathered != 0) return gather(w, op, way, t, taps, mask);
  const bool linear = t.filter == wire::FilterMode::kLinear && !way.by_integers;
  const int corners = linear ? 1 << way.dimensions : 1;
  float sums[kLanes][kTextureValues] = {};
  for (int which = 0; which < corners; ++which) {
    const Corner corner = corner_of(t, way, taps, which, mask);
    const uint8_t* texels[kLanes];
    read_texels(w, op, corner.address, texel_bytes(t), corner.inside, which == 0, texels);
    for (Mask m = mask; m != 0; m &= m - 1) {
      const int lane = first_lane(m);
      for (uint32_t channel = 0; channel < kTextureValues; ++channel) {
        const bool is_inside = corner.inside >> lane & 1;
        const uint32_t bits = is_inside     ? (texels[lane] ? channel_of(t, texels[lane], channel) : 0)
                              : t.is_linear ? 0
                                            : border_of(t, channel);
        if (!linear) {
          put(w, op, static_cast<int>(channel), lane, bits);
        } else if (corner.weight[lane] != 0) {
          sums[lane][channel] += corner.weight[lane] * std::bit_cast<float>(bits);
        }
      }
    }
  }
  if (!linear) return;
  for (Mask m = mask; m != 0; m &= m - 1)
    for (int channel = 0; channel < kTextureValues; ++channel)
      put(w, op, channel, first_lane(m), std::bit_cast<uint32_t>(sums[first_lane(m)][channel]));
}

struct SurfacePlaces {
  uint64_t address[kLanes];
  Mask good = 0;
};

// The bytes that lanes of a surface access mean. The first coordinate counts bytes.
SurfacePlaces surface_places(Warp& w, const Op& op, const Texture& t, Mask mask, Direction direction) {
  const TextureWay way = TextureWay::unpacked(op.access.offset);
  const int64_t bytes = int64_t{op.access.bytes} * op.access.vec;
  SurfacePlaces places;
  for (Mask m = mask; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    int index = op.access.vec;
    const int64_t layer = way.layered ? whole_coordinate(w, op, index++, lane) : 0;
    int64_t at[3] = {0, 0, 0};
    const int64_t last[3] = {int64_t{t.width} * texel_bytes(t) - bytes, int64_t{t.height} - 1,
                             int64_t{t.depth} - 1};
    bool inside = !way.layered || (layer >= 0 && layer <= last[2]);
    for (int d = 0; d < way.dimensions; ++d) {
      at[d] = whole_coordinate(w, op, index++, lane);
      const bool fits = at[d] >= 0 && at[d] <= last[d];
      if (!fits && way.boundary == Boundary::kClamp)
        at[d] = std::clamp<int64_t>(at[d], 0, std::max<int64_t>(0, last[d]));
      else
        inside &= fits;
    }
    if (!inside) {
      if (way.boundary != Boundary::kTrap) continue;
      set_launch_error(*w.block, cuda::kLaunchFailure);
      if (w.block->options->check_memory) checks::outside_surface(w, op, lane, at, t, direction);
      continue;
    }
    const int64_t slice = way.layered ? layer : at[2];
    places.address[lane] =
        t.address + static_cast<uint64_t>(slice * t.height + at[1]) * t.pitch + static_cast<uint64_t>(at[0]);
    places.good |= 1u << lane;
  }
  return places;
}

// Height and depth are 1 where there is no such dimension.
uint32_t answer_of(const Texture& t, TextureQuestion question) {
  switch (question) {
    case TextureQuestion::kWidth:
      return t.width;
    case TextureQuestion::kHeight:
      return t.height;
    case TextureQuestion::kDepth:
      return t.is_layered ? 1 : t.depth;
    case TextureQuestion::kLayers:
      return t.is_layered ? t.depth : 0;
    case TextureQuestion::kNormalized:
      return t.normalized;
    case TextureQuestion::kLevels:
    case TextureQuestion::kSamples:
      return 1;
  }
  return 0;
}

}  // namespace

void texture_fetch(Warp& w, const Op& op) {
  for_each_handle(w, op, [&](uint64_t handle, Mask mask) {
    const Texture* t = w.block->launch->env.memory.textures().find(handle);
    if (t == nullptr || t->is_surface) return report_bad_handle(w, op, mask);
    fetch(w, op, *t, mask);
  });
}

void surface_load(Warp& w, const Op& op) {
  for_each_handle(w, op, [&](uint64_t handle, Mask mask) {
    const Texture* t = w.block->launch->env.memory.textures().find(handle);
    if (t == nullptr || !t->is_surface) return report_bad_handle(w, op, mask);
    const uint32_t bytes = uint32_t{op.access.bytes} * op.access.vec;
    const SurfacePlaces places = surface_places(w, op, *t, mask, Direction::kLoad);
    const uint8_t* texels[kLanes];
    read_texels(w, op, places.address, bytes, places.good, true, texels);
    for (Mask m = mask; m != 0; m &= m - 1) {
      const int lane = first_lane(m);
      for (int v = 0; v < op.access.vec; ++v) {
        uint64_t value = 0;
        if (texels[lane]) std::memcpy(&value, texels[lane] + v * op.access.bytes, op.access.bytes);
        if (op.list[v] != 0)
          std::memcpy(w.regs + op.list[v] + lane * op.access.reg_bytes, &value, op.access.reg_bytes);
      }
    }
  });
}

void surface_store(Warp& w, const Op& op) {
  for_each_handle(w, op, [&](uint64_t handle, Mask mask) {
    const Texture* t = w.block->launch->env.memory.textures().find(handle);
    if (t == nullptr || !t->is_surface) return report_bad_handle(w, op, mask);
    const uint32_t bytes = uint32_t{op.access.bytes} * op.access.vec;
    const SurfacePlaces places = surface_places(w, op, *t, mask, Direction::kStore);
    if (places.good == 0) return;
    const Shape shape = shape_of(places.address, places.good, bytes);
    const Mask good = check_global(w, op, places.address, bytes, places.good, shape, Direction::kStore);
    count_global(w, op, places.address, bytes, good, shape, Direction::kStore);
    if (w.block->options->check_init) mark_global_written(w, op, places.address, bytes, good, shape);
    ++w.block->changes;
    w.global_stores += good != 0;
    for (Mask m = good; m != 0; m &= m - 1) {
      const int lane = first_lane(m);
      for (int v = 0; v < op.access.vec; ++v)
        std::memcpy(DeviceMemory::host(places.address[lane]) + v * op.access.bytes,
                    w.regs + op.list[v] + lane * op.access.reg_bytes, op.access.bytes);
    }
  });
}

void texture_query(Warp& w, const Op& op) {
  const auto question = static_cast<TextureQuestion>(op.access.offset);
  for_each_handle(w, op, [&](uint64_t handle, Mask mask) {
    const Texture* const t = w.block->launch->env.memory.textures().find(handle);
    if (t == nullptr) return report_bad_handle(w, op, mask);
    const uint32_t answer = answer_of(*t, question);
    for (Mask m = mask; m != 0; m &= m - 1)
      std::memcpy(w.regs + op.list[0] + first_lane(m) * 4, &answer, sizeof answer);
  });
}

}  // namespace vgpu
