// Inline PTX: vectors of four words, predicated stores, wide products, and a loop of its own.
#include "../programs/check.cuh"

__global__ void assembly(const uint32_t* in, uint32_t* out, uint32_t* sums) {
  const unsigned i = threadIdx.x;
  uint32_t a, b, c, d;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
               : "l"(in + 4 * i)
               : "memory");
  asm volatile("st.global.v4.u32 [%0], {%4, %3, %2, %1};" ::"l"(out + 4 * i), "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
  uint32_t sum;
  asm("{\n"
      ".reg .pred p;\n"
      ".reg .u32 n, t;\n"
      "mov.u32 %0, 0;\n"
      "and.b32 n, %1, 15;\n"
      "NEXT_%=:\n"
      "setp.eq.u32 p, n, 0;\n"
      "@p bra DONE_%=;\n"
      "mad.lo.u32 %0, n, %2, %0;\n"
      "sub.u32 n, n, 1;\n"
      "bra NEXT_%=;\n"
      "DONE_%=:\n"
      "}"
      : "=&r"(sum)
      : "r"(a), "r"(b));
  sums[i] = 7;
  asm volatile("{.reg .pred p; setp.gt.u32 p, %1, %2; @p st.global.u32 [%0], %1;}" ::"l"(sums + i), "r"(sum),
               "r"(c)
               : "memory");
}

int main() {
  Report report("inline_vectors");
  Random random(49);
  std::vector<uint32_t> values(4 * 64), want(4 * 64), want_sums(64);
  for (uint32_t& value : values) value = random.next32();
  for (int i = 0; i < 64; ++i) {
    for (int j = 0; j < 4; ++j) want[4 * i + j] = values[4 * i + 3 - j];
    uint32_t sum = 0;
    for (uint32_t n = values[4 * i] & 15; n > 0; --n) sum += n * values[4 * i + 1];
    want_sums[i] = sum > values[4 * i + 2] ? sum : 7;
  }
  DeviceBuffer<uint32_t> input(values), output(4 * 64), sums(64);
  assembly<<<1, 64>>>(input.get(), output.get(), sums.get());
  LAUNCHED_OK();
  report.equal("rotated", output.download(), want);
  report.equal("sums", sums.download(), want_sums);
  return report.finish();
}
