// wgmma on floats of 8 bits: e4m3 and e5m2 in every combination, four steps along k. The sums stay far below
// the 14 bits that the hardware keeps while it adds.
#include <cuda_fp8.h>

#include "one_tile.cuh"

using namespace hopper;

WGMMA_FORM(E4m3, 32, WGMMA_16_S("m64n32k32.f32.e4m3.e4m3", ", 1, 1", d, a, b, adds));
WGMMA_FORM(E4m3E5m2, 32, WGMMA_16_S("m64n32k32.f32.e4m3.e5m2", ", 1, 1", d, a, b, adds));
WGMMA_FORM(E5m2E4m3, 64, WGMMA_32_S("m64n64k32.f32.e5m2.e4m3", ", 1, 1", d, a, b, adds));
WGMMA_FORM(E5m2, 128, WGMMA_64_S("m64n128k32.f32.e5m2.e5m2", ", 1, 1", d, a, b, adds));
WGMMA_FORM(E4m3Wide, 256, WGMMA_128_S("m64n256k32.f32.e4m3.e4m3", ", 1, 1", d, a, b, adds));

int main() {
  Report report("wgmma_float8");
  Random random(103);
  using E4 = __nv_fp8_e4m3;
  using E5 = __nv_fp8_e5m2;
  check_tile<E4m3, E4, E4, float>(report, "e4m3", random, -2, 2);
  check_tile<E4m3E5m2, E4, E5, float>(report, "e4m3_e5m2", random, -2, 2);
  check_tile<E5m2E4m3, E5, E4, float>(report, "e5m2_e4m3", random, -2, 2);
  check_tile<E5m2, E5, E5, float>(report, "e5m2", random, -2, 2);
  check_tile<E4m3Wide, E4, E4, float>(report, "e4m3_n256", random, -2, 2);
  return report.finish();
}
