// mma.sync on half: m16n8k16 and m16n8k8, accumulating in float and in half. Small whole numbers must come
// out exactly; random ones within the rounding of their accumulator.
#include <cuda_fp16.h>

#include "fragments.cuh"

template <int kDepth>
__global__ void multiply_float(const __half* a, const __half* b, const float* c, float* d) {
  constexpr int kWordsA = kDepth / 4, kWordsB = kDepth / 8;
  const int lane = threadIdx.x;
  uint32_t ra[kWordsA], rb[kWordsB];
  load_a<kWordsA, 2>(ra, a, kDepth, lane);
  load_b<kWordsB, 2>(rb, b, kDepth, lane);
  float acc[4];
  for (int k = 0; k < 4; ++k) acc[k] = c[accumulator_row(lane, k) * 8 + accumulator_column(lane, k)];
  if constexpr (kDepth == 16) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
        : "r"(ra[0]), "r"(ra[1]), "r"(ra[kWordsA - 2]), "r"(ra[kWordsA - 1]), "r"(rb[0]),
          "r"(rb[kWordsB - 1]));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
        : "r"(ra[0]), "r"(ra[1]), "r"(rb[0]));
  }
  for (int k = 0; k < 4; ++k) d[accumulator_row(lane, k) * 8 + accumulator_column(lane, k)] = acc[k];
}

template <int kDepth>
__global__ void multiply_half(const __half* a, const __half* b, const float* c, float* d) {
  constexpr int kWordsA = kDepth / 4, kWordsB = kDepth / 8;
  const int lane = threadIdx.x;
  uint32_t ra[kWordsA], rb[kWordsB];
  load_a<kWordsA, 2>(ra, a, kDepth, lane);
  load_b<kWordsB, 2>(rb, b, kDepth, lane);
  uint32_t acc[2];
  for (int w = 0; w < 2; ++w) {
    const float* row = c + accumulator_row(lane, 2 * w) * 8 + accumulator_column(lane, 2 * w);
    const __half2 pair = __floats2half2_rn(row[0], row[1]);
    acc[w] = *reinterpret_cast<const uint32_t*>(&pair);
  }
  if constexpr (kDepth == 16) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
        : "+r"(acc[0]), "+r"(acc[1])
        : "r"(ra[0]), "r"(ra[1]), "r"(ra[kWordsA - 2]), "r"(ra[kWordsA - 1]), "r"(rb[0]),
          "r"(rb[kWordsB - 1]));
  } else {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%4}, {%0, %1};"
                 : "+r"(acc[0]), "+r"(acc[1])
                 : "r"(ra[0]), "r"(ra[1]), "r"(rb[0]));
  }
  for (int w = 0; w < 2; ++w) {
    const __half2 pair = *reinterpret_cast<const __half2*>(&acc[w]);
    float* row = d + accumulator_row(lane, 2 * w) * 8 + accumulator_column(lane, 2 * w);
    row[0] = __low2float(pair);
    row[1] = __high2float(pair);
  }
}

using Kernel = void (*)(const __half*, const __half*, const float*, float*);

// B is stored column by column.
void run(Report& report, const char* exact_name, const char* random_name, Kernel kernel, int depth,
         double tolerance) {
  for (const bool exact : {true, false}) {
    Random random(27);
    const auto number = [&] {
      return exact ? static_cast<float>(random.below(9) - 4)
                   : __half2float(__float2half(random.uniform(-1.0f, 1.0f)));
    };
    std::vector<__half> a(16 * depth), b(8 * depth);
    std::vector<float> c(16 * 8), want(16 * 8);
    for (__half& value : a) value = __float2half(number());
    for (__half& value : b) value = __float2half(number());
    for (float& value : c) value = number();
    std::vector<double> reference(16 * 8);
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 8; ++column) {
        double sum = c[row * 8 + column];
        for (int k = 0; k < depth; ++k) {
          sum += static_cast<double>(__half2float(a[row * depth + k])) * __half2float(b[column * depth + k]);
        }
        reference[row * 8 + column] = sum;
        want[row * 8 + column] = static_cast<float>(sum);
      }
    }
    DeviceBuffer<__half> a_input(a), b_input(b);
    DeviceBuffer<float> c_input(c), output(16 * 8);
    kernel<<<1, 32>>>(a_input.get(), b_input.get(), c_input.get(), output.get());
    LAUNCHED_OK();
    if (exact) {
      report.equal(exact_name, output.download(), want);
    } else {
      report.near(random_name, output.download(), reference, tolerance, tolerance);
    }
  }
}

int main() {
  Report report("mma_f16");
  run(report, "k16_float_exact", "k16_float", multiply_float<16>, 16, 1e-5);
  run(report, "k8_float_exact", "k8_float", multiply_float<8>, 8, 1e-5);
  run(report, "k16_half_exact", "k16_half", multiply_half<16>, 16, 8e-3);
  run(report, "k8_half_exact", "k8_half", multiply_half<8>, 8, 8e-3);
  return report.finish();
}
