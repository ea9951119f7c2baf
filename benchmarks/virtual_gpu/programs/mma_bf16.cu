// mma.sync on bfloat16 with float accumulators, m16n8k16 and m16n8k8, chained over a longer inner dimension.
#include <cuda_bf16.h>

#include "fragments.cuh"

template <int kStep>
__global__ void multiply(const __nv_bfloat16* a, const __nv_bfloat16* b, int depth, float* d) {
  constexpr int kWordsA = kStep / 4, kWordsB = kStep / 8;
  const int lane = threadIdx.x;
  float acc[4] = {0, 0, 0, 0};
  for (int k0 = 0; k0 < depth; k0 += kStep) {
    uint32_t ra[kWordsA], rb[kWordsB];
    load_a<kWordsA, 2>(ra, a + k0, depth, lane);
    load_b<kWordsB, 2>(rb, b + k0, depth, lane);
    if constexpr (kStep == 16) {
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
          "{%0, %1, %2, %3};"
          : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
          : "r"(ra[0]), "r"(ra[1]), "r"(ra[kWordsA - 2]), "r"(ra[kWordsA - 1]), "r"(rb[0]),
            "r"(rb[kWordsB - 1]));
    } else {
      asm volatile(
          "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, "
          "%3};"
          : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
          : "r"(ra[0]), "r"(ra[1]), "r"(rb[0]));
    }
  }
  for (int k = 0; k < 4; ++k) d[accumulator_row(lane, k) * 8 + accumulator_column(lane, k)] = acc[k];
}

using Kernel = void (*)(const __nv_bfloat16*, const __nv_bfloat16*, int, float*);

void run(Report& report, const char* exact_name, const char* random_name, Kernel kernel) {
  constexpr int kDepth = 64;
  for (const bool exact : {true, false}) {
    Random random(28);
    const auto number = [&] {
      return __float2bfloat16(exact ? static_cast<float>(random.below(17) - 8) : random.uniform(-1.0f, 1.0f));
    };
    std::vector<__nv_bfloat16> a(16 * kDepth), b(8 * kDepth);
    for (__nv_bfloat16& value : a) value = number();
    for (__nv_bfloat16& value : b) value = number();
    std::vector<double> reference(16 * 8);
    std::vector<float> want(16 * 8);
    for (int i = 0; i < 16 * 8; ++i) {
      double sum = 0;
      for (int k = 0; k < kDepth; ++k) {
        sum += static_cast<double>(__bfloat162float(a[i / 8 * kDepth + k])) *
               __bfloat162float(b[i % 8 * kDepth + k]);
      }
      reference[i] = sum;
      want[i] = static_cast<float>(sum);
    }
    DeviceBuffer<__nv_bfloat16> a_input(a), b_input(b);
    DeviceBuffer<float> output(16 * 8);
    kernel<<<1, 32>>>(a_input.get(), b_input.get(), kDepth, output.get());
    LAUNCHED_OK();
    if (exact) {
      report.equal(exact_name, output.download(), want);
    } else {
      report.near(random_name, output.download(), reference, 2e-5, 2e-5);
    }
  }
}

int main() {
  Report report("mma_bf16");
  run(report, "k16_exact", "k16", multiply<16>);
  run(report, "k8_exact", "k8", multiply<8>);
  return report.finish();
}
