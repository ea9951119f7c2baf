// tex, tld4, suld, sust, txq and suq: what one such instruction says beside its registers, packed into the
// offset of its AccessDetail. Its list holds the values' registers (four for a texture), then the
// coordinates'.
#pragma once

#include <cstdint>

#include "exec/op.h"

namespace vgpu {

enum class Boundary : uint8_t { kTrap, kClamp, kZero };  // of a surface

struct TextureWay {
  uint8_t dimensions = 1;
  bool layered = false;
  bool by_integers = false;  // coordinates
  uint8_t gathered = 0;      // tld4: the channel, counted from 1
  Boundary boundary = Boundary::kTrap;

  uint64_t packed() const {
    return dimensions | uint64_t{layered} << 8 | uint64_t{by_integers} << 16 | uint64_t{gathered} << 24 |
           static_cast<uint64_t>(boundary) << 32;
  }
  static TextureWay unpacked(uint64_t bits) {
    return {static_cast<uint8_t>(bits), (bits >> 8 & 1) != 0, (bits >> 16 & 1) != 0,
            static_cast<uint8_t>(bits >> 24), static_cast<Boundary>(bits >> 32 & 0xff)};
  }
};

// What txq and suq ask for, the offset of their AccessDetail.
enum class TextureQuestion : uint8_t { kWidth, kHeight, kDepth, kLayers, kLevels, kSamples, kNormalized };

// src[0]: the handles.
void texture_fetch(Warp&, const Op&);
void surface_load(Warp&, const Op&);
void surface_store(Warp&, const Op&);
void texture_query(Warp&, const Op&);

}  // namespace vgpu
