// Arithmetic rounded up, down, to zero and to nearest: the four results enclose the exact one.
#include "../programs/check.cuh"

__global__ void round_all(const float* a, const float* b, float* out) {
  const int i = threadIdx.x;
  Column<float> to{out, 128, i};
  to.put(__fadd_rd(a[i], b[i]));
  to.put(__fadd_rn(a[i], b[i]));
  to.put(__fadd_ru(a[i], b[i]));
  to.put(__fmul_rd(a[i], b[i]));
  to.put(__fmul_rn(a[i], b[i]));
  to.put(__fmul_ru(a[i], b[i]));
  to.put(__fdiv_rd(a[i], b[i]));
  to.put(__fdiv_rn(a[i], b[i]));
  to.put(__fdiv_ru(a[i], b[i]));
}

int main() {
  Report report("directed_rounding");
  Random random(22);
  std::vector<float> a(128), b(128);
  for (int i = 0; i < 128; ++i) {
    a[i] = random.uniform(-100, 100);
    b[i] = random.uniform(1, 50);
  }
  DeviceBuffer<float> da(a), db(b), output(9 * 128);
  round_all<<<1, 128>>>(da.get(), db.get(), output.get());
  LAUNCHED_OK();
  const std::vector<float> got = output.download();
  for (int i = 0; i < 128; ++i) {
    const double x = a[i], y = b[i], exact[3] = {x + y, x * y, x / y};  // the first two are exact in double
    for (int op = 0; op < 3; ++op) {
      const float down = got[(3 * op) * 128 + i], near = got[(3 * op + 1) * 128 + i],
                  up = got[(3 * op + 2) * 128 + i];
      report.check(down <= exact[op] && exact[op] <= up, "the exact value lies between");
      report.check(near == down || near == up, "the nearest is one of the two");
      report.check(up == down || std::nextafter(down, 1e30f) == up, "which are neighbours");
      report.check(near == static_cast<float>(exact[op]), "and the host's");
    }
  }
  return report.finish();
}
