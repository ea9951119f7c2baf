// Half and half2: add, subtract, multiply, fma, saturation, relu, min and max, comparisons; bit for bit.
#include "small_float_arithmetic.cuh"

int main() {
  Report report("half_arithmetic");
  run_arithmetic<__half>(report, kHalf);
  return report.finish();
}
