// prmt: pick four of the eight bytes of two registers.
#include "ops/builders.h"

namespace vgpu::ops {
namespace {

// Byte `position` of the result: selector bits 0-1 pick the byte, bit 2 the register, bit 3 asks for the
// byte's sign in all eight bits instead of the byte.
inline uint32_t picked_byte(uint32_t a, uint32_t b, uint32_t selector, int position) {
  const uint32_t code = selector >> (4 * position);
  const uint32_t byte = ((code & 4 ? b : a) >> (8 * (code & 3))) & 0xffu;
  const uint32_t sign = byte & 0x80u ? 0xffu : 0u;
  return (code & 8 ? sign : byte) << (8 * position);
}

struct Permute {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t selector) const {
    return picked_byte(a, b, selector, 0) | picked_byte(a, b, selector, 1) | picked_byte(a, b, selector, 2) |
           picked_byte(a, b, selector, 3);
  }
};

// The named modes stand for one of four selectors, chosen by the low two bits of the third operand. The
// array holds them packed, 16 bits each, in that order.
template <uint64_t kSelectors>
struct PermuteMode {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    return Permute{}(a, b, static_cast<uint32_t>(kSelectors >> (16 * (c & 3))) & 0xffffu);
  }
};

}  // namespace

void add_byte_permutes(FormTable& t) {
  t.count_as(InstrClass::kInteger);
  using U = uint32_t;
  t.map<Permute, U, U, U, U>("prmt.b32");
  t.map<PermuteMode<0x6543'5432'4321'3210>, U, U, U, U>("prmt.b32.f4e");   // four bytes forward
  t.map<PermuteMode<0x0123'7012'6701'5670>, U, U, U, U>("prmt.b32.b4e");   // four bytes backward
  t.map<PermuteMode<0x3333'2222'1111'0000>, U, U, U, U>("prmt.b32.rc8");   // one byte repeated
  t.map<PermuteMode<0x3333'3222'3211'3210>, U, U, U, U>("prmt.b32.ecl");   // edge clamp left
  t.map<PermuteMode<0x3210'2210'1110'0000>, U, U, U, U>("prmt.b32.ecr");   // edge clamp right
  t.map<PermuteMode<0x3232'1010'3232'1010>, U, U, U, U>("prmt.b32.rc16");  // one half repeated
}

}  // namespace vgpu::ops
