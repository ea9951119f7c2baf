// cvt from floating point to 32- and 64-bit integers.
#include "ops/convert_to_integer.h"

#include "ops/builders.h"

namespace vgpu::ops {

void add_conversions_to_integer(FormTable& t) {
  for_types<uint32_t, int32_t, uint64_t, int64_t>([&]<class D>() { add_conversions_to<D>(t); });
}

}  // namespace vgpu::ops
