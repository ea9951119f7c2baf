// Four bytes or two halves of a word at a time: sums, maxima, averages, differences, comparisons.
#include "../programs/check.cuh"

__global__ void packed(const unsigned* a, const unsigned* b, unsigned* out) {
  const int i = threadIdx.x;
  Column<unsigned> to{out, 64, i};
  to.put(__vadd4(a[i], b[i]));
  to.put(__vsub2(a[i], b[i]));
  to.put(__vaddus4(a[i], b[i]));
  to.put(__vmaxs2(a[i], b[i]));
  to.put(__vminu4(a[i], b[i]));
  to.put(__vavgu4(a[i], b[i]));
  to.put(__vabsdiffu4(a[i], b[i]));
  to.put(__vcmpgtu4(a[i], b[i]));
  to.put(__vsadu4(a[i], b[i]));
}

template <class F>
unsigned bytewise(unsigned a, unsigned b, F each) {
  unsigned out = 0;
  for (int s = 0; s < 32; s += 8)
    out |=
        (static_cast<unsigned>(each(static_cast<int>(a >> s & 255), static_cast<int>(b >> s & 255))) & 255u)
        << s;
  return out;
}

template <class F>
unsigned halfwise(unsigned a, unsigned b, F each) {
  unsigned out = 0;
  for (int s = 0; s < 32; s += 16)
    out |= (static_cast<unsigned>(each(static_cast<int16_t>(a >> s), static_cast<int16_t>(b >> s))) & 0xffffu)
           << s;
  return out;
}

int main() {
  Report report("bytes_in_words");
  Random random(21);
  std::vector<unsigned> a(64), b(64), want(9 * 64);
  for (int i = 0; i < 64; ++i) {
    a[i] = random.next32();
    b[i] = random.next32();
    Column<unsigned> to{want.data(), 64, i};
    to.put(bytewise(a[i], b[i], [](int x, int y) { return x + y; }));
    to.put(halfwise(a[i], b[i], [](int x, int y) { return x - y; }));
    to.put(bytewise(a[i], b[i], [](int x, int y) { return x + y > 255 ? 255 : x + y; }));
    to.put(halfwise(a[i], b[i], [](int x, int y) { return x > y ? x : y; }));
    to.put(bytewise(a[i], b[i], [](int x, int y) { return x < y ? x : y; }));
    to.put(bytewise(a[i], b[i], [](int x, int y) { return (x + y + 1) / 2; }));
    const unsigned apart = bytewise(a[i], b[i], [](int x, int y) { return x > y ? x - y : y - x; });
    to.put(apart);
    to.put(bytewise(a[i], b[i], [](int x, int y) { return x > y ? 255 : 0; }));
    to.put((apart & 255) + (apart >> 8 & 255) + (apart >> 16 & 255) + (apart >> 24));
  }
  DeviceBuffer<unsigned> da(a), db(b), output(9 * 64);
  packed<<<1, 64>>>(da.get(), db.get(), output.get());
  LAUNCHED_OK();
  report.equal("words", output.download(), want);
  return report.finish();
}
