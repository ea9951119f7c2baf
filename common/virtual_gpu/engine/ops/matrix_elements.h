// The element types of the tensor cores' inputs. Each type says how many of its elements a 32-bit register
// packs and widens a register of all 32 lanes to floats, in the order of lane and then of place in the
// register. Every value of every type is exact in float. kInRange: so is every product of two values.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "exec/op.h"
#include "ops/matrix_convert.h"

namespace vgpu::matrix {

constexpr int kRegisterBytes = 4 * kLanes;  // a 32-bit register of a warp

namespace element {

struct F16 {
  static constexpr const char* kName = "f16";
  static constexpr bool kInRange = true;
  static constexpr int kPerRegister = 2;
  static void widen(const uint8_t* reg, float* __restrict out) {
    halves_to_floats(reg, out, kPerRegister * kLanes);
  }
};

struct Bf16 {
  static constexpr const char* kName = "bf16";
  static constexpr bool kInRange = false;
  static constexpr int kPerRegister = 2;
  static void widen(const uint8_t* reg, float* __restrict out) {
    for (int i = 0; i < kPerRegister * kLanes; ++i) {
      out[i] = std::bit_cast<float>(static_cast<uint32_t>(load_at<uint16_t>(reg, i)) << 16);
    }
  }
};

// A float of which the hardware reads the upper 19 bits and ignores the rest.
struct Tf32 {
  static constexpr const char* kName = "tf32";
  static constexpr bool kInRange = false;
  static constexpr int kPerRegister = 1;
  static void widen(const uint8_t* reg, float* __restrict out) {
    for (int i = 0; i < kLanes; ++i) out[i] = std::bit_cast<float>(load_at<uint32_t>(reg, i) & 0xffffe000u);
  }
};

template <class Byte>
inline void widen_bytes(const uint8_t* reg, float* __restrict out) {
  for (int i = 0; i < kRegisterBytes; ++i) out[i] = static_cast<float>(load_at<Byte>(reg, i));
}

struct S8 {
  static constexpr const char* kName = "s8";
  static constexpr bool kInRange = true;
  static constexpr int kPerRegister = 4;
  static void widen(const uint8_t* reg, float* __restrict out) { widen_bytes<int8_t>(reg, out); }
};

struct U8 {
  static constexpr const char* kName = "u8";
  static constexpr bool kInRange = true;
  static constexpr int kPerRegister = 4;
  static void widen(const uint8_t* reg, float* __restrict out) { widen_bytes<uint8_t>(reg, out); }
};

// Two to a byte, the low half first.
struct S4 {
  static constexpr const char* kName = "s4";
  static constexpr bool kInRange = true;
  static constexpr int kPerRegister = 8;
  static void widen(const uint8_t* reg, float* __restrict out) {
    for (int i = 0; i < kRegisterBytes; ++i) {
      out[2 * i] = static_cast<float>(static_cast<int8_t>(reg[i] << 4) >> 4);
      out[2 * i + 1] = static_cast<float>(static_cast<int8_t>(reg[i]) >> 4);
    }
  }
};

struct U4 {
  static constexpr const char* kName = "u4";
  static constexpr bool kInRange = true;
  static constexpr int kPerRegister = 8;
  static void widen(const uint8_t* reg, float* __restrict out) {
    for (int i = 0; i < kRegisterBytes; ++i) {
      out[2 * i] = static_cast<float>(reg[i] & 15);
      out[2 * i + 1] = static_cast<float>(reg[i] >> 4);
    }
  }
};

struct E4m3 {
  static constexpr const char* kName = "e4m3";
  static constexpr bool kInRange = true;
  static constexpr int kPerRegister = 4;
  static constexpr std::array<float, 256> kValues = float8_values<4, false>();
  static void widen(const uint8_t* reg, float* __restrict out) {
    for (int i = 0; i < kRegisterBytes; ++i) out[i] = kValues[reg[i]];
  }
};

struct E5m2 {
  static constexpr const char* kName = "e5m2";
  static constexpr bool kInRange = true;
  static constexpr int kPerRegister = 4;
  static constexpr std::array<float, 256> kValues = float8_values<5, true>();
  static void widen(const uint8_t* reg, float* __restrict out) {
    for (int i = 0; i < kRegisterBytes; ++i) out[i] = kValues[reg[i]];
  }
};

}  // namespace element
}  // namespace vgpu::matrix
