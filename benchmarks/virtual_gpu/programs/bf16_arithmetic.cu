// Bfloat16 and its pairs: add, subtract, multiply, fma, saturation, relu, min and max, comparisons; bit for
// bit. For compute_80 the compiler writes additions as fma, for compute_90 as add: the answers are the same.
// also for: 80
#include "small_float_arithmetic.cuh"

int main() {
  Report report("bf16_arithmetic");
  run_arithmetic<__nv_bfloat16>(report, kBfloat16);
  return report.finish();
}
