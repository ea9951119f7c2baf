// wgmma on tf32: rows of 32 floats in four steps along k, results of 8 to 256 columns.
#include "one_tile.cuh"

using namespace hopper;

WGMMA_FORM(N8, 8, WGMMA_4_S("m64n8k8.f32.tf32.tf32", ", 1, 1", d, a, b, adds));
WGMMA_FORM(N32, 32, WGMMA_16_S("m64n32k8.f32.tf32.tf32", ", 1, 1", d, a, b, adds));
WGMMA_FORM(N64, 64, WGMMA_32_S("m64n64k8.f32.tf32.tf32", ", 1, 1", d, a, b, adds));
WGMMA_FORM(N128, 128, WGMMA_64_S("m64n128k8.f32.tf32.tf32", ", 1, 1", d, a, b, adds));
WGMMA_FORM(N256, 256, WGMMA_128_S("m64n256k8.f32.tf32.tf32", ", 1, 1", d, a, b, adds));

int main() {
  Report report("wgmma_tf32");
  Random random(104);
  check_tile<N8, float, float, float>(report, "n8", random, -100, 100);
  check_tile<N32, float, float, float>(report, "n32", random, -100, 100);
  check_tile<N64, float, float, float>(report, "n64", random, -100, 100);
  check_tile<N128, float, float, float>(report, "n128", random, -100, 100);
  check_tile<N256, float, float, float>(report, "n256", random, -100, 100);
  return report.finish();
}
