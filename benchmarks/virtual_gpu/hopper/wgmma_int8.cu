// wgmma on bytes: signed and unsigned in every combination, results of 8 to 256 columns, four steps along k.
#include "one_tile.cuh"

using namespace hopper;

WGMMA_FORM(S8Narrow, 8, WGMMA_4_S("m64n8k32.s32.s8.s8", "", d, a, b, adds));
WGMMA_FORM(S8, 32, WGMMA_16_S("m64n32k32.s32.s8.s8", "", d, a, b, adds));
WGMMA_FORM(S8U8, 32, WGMMA_16_S("m64n32k32.s32.s8.u8", "", d, a, b, adds));
WGMMA_FORM(U8S8, 64, WGMMA_32_S("m64n64k32.s32.u8.s8", "", d, a, b, adds));
WGMMA_FORM(U8, 128, WGMMA_64_S("m64n128k32.s32.u8.u8", "", d, a, b, adds));
WGMMA_FORM(S8Saturating, 64, WGMMA_32_S("m64n64k32.satfinite.s32.s8.s8", "", d, a, b, adds));
WGMMA_FORM(S8Wide, 256, WGMMA_128_S("m64n256k32.s32.s8.s8", "", d, a, b, adds));

int main() {
  Report report("wgmma_int8");
  Random random(102);
  check_tile<S8Narrow, int8_t, int8_t, int>(report, "s8_n8", random, -128, 127);
  check_tile<S8, int8_t, int8_t, int>(report, "s8_n32", random, -128, 127);
  check_tile<S8U8, int8_t, uint8_t, int>(report, "s8_u8", random, 0, 127);
  check_tile<U8S8, uint8_t, int8_t, int>(report, "u8_s8", random, 0, 127);
  check_tile<U8, uint8_t, uint8_t, int>(report, "u8_n128", random, 0, 255);
  check_tile<S8Saturating, int8_t, int8_t, int>(report, "s8_satfinite", random, -128, 127);
  check_tile<S8Wide, int8_t, int8_t, int>(report, "s8_n256", random, -128, 127);
  return report.finish();
}
