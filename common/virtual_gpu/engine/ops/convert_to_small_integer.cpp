// cvt from floating point to 8- and 16-bit integers.
#include "ops/builders.h"
#include "ops/convert_to_integer.h"

namespace vgpu::ops {

void add_conversions_to_small_integer(FormTable& t) {
  for_types<uint8_t, int8_t, uint16_t, int16_t>([&]<class D>() { add_conversions_to<D>(t); });
}

}  // namespace vgpu::ops
