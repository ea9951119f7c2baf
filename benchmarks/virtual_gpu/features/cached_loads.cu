// Loads and stores with cache hints give the same values as plain ones.
#include "../programs/check.cuh"

__global__ void hints(const int* in, const int4* wide, int* out, int4* wide_out) {
  const int i = threadIdx.x;
  __stcg(&out[i], __ldg(&in[i]) + __ldcg(&in[i]));
  __stcs(&out[64 + i], __ldca(&in[i]) * 2 + __ldcs(&in[i]));
  __stwt(&out[128 + i], __ldlu(&in[i]) - __ldcv(&in[i]));
  __stwb(&wide_out[i], __ldg(&wide[63 - i]));
}

int main() {
  Report report("cached_loads");
  std::vector<int> values(64), want(192);
  std::vector<int4> wide(64), want_wide(64);
  for (int i = 0; i < 64; ++i) {
    values[i] = i * 3 - 5;
    wide[i] = make_int4(i, -i, 2 * i, 7);
    want_wide[63 - i] = wide[i];
    want[i] = 2 * values[i];
    want[64 + i] = 3 * values[i];
  }
  DeviceBuffer<int> in(values), out(192);
  DeviceBuffer<int4> wide_in(wide), wide_out(64);
  hints<<<1, 64>>>(in.get(), wide_in.get(), out.get(), wide_out.get());
  LAUNCHED_OK();
  report.equal("words", out.download(), want);
  const std::vector<int4> got = wide_out.download();
  report.check(std::memcmp(got.data(), want_wide.data(), sizeof(int4) * 64) == 0, "vectors of four");
  return report.finish();
}
