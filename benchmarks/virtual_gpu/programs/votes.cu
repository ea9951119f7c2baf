// Warp-wide questions: all, any, ballot, uni, match_any, match_all, redux, activemask; whole and partial
// masks.
#include "check.cuh"

constexpr unsigned kAll = 0xffffffffu, kLow = 0x0000ffffu;
constexpr int kThreads = 64, kRows = 22;

__global__ void vote(const int* in, uint32_t* out) {
  const int i = threadIdx.x, lane = i & 31;
  const int x = in[i];
  Column<uint32_t> to{out, kThreads, i};
  to.put(__all_sync(kAll, x > -5000));
  to.put(__all_sync(kAll, x > 0));
  to.put(__any_sync(kAll, x > 900));
  to.put(__any_sync(kAll, x > 5000));
  to.put(__ballot_sync(kAll, x & 1));
  to.put(__uni_sync(kAll, x > 5000));
  to.put(__match_any_sync(kAll, x % 3));
  to.put(__match_any_sync(kAll, static_cast<unsigned long long>(x % 4) << 40));
  int same;
  to.put(__match_all_sync(kAll, x % 3, &same));
  to.put(same);
  to.put(__match_all_sync(kAll, i / 32, &same));
  to.put(same);
  to.put(__reduce_add_sync(kAll, x));
  to.put(__reduce_min_sync(kAll, x));
  to.put(__reduce_max_sync(kAll, x));
  to.put(__reduce_min_sync(kAll, static_cast<unsigned>(x)));
  to.put(__reduce_max_sync(kAll, static_cast<unsigned>(x)));
  to.put(__reduce_and_sync(kAll, static_cast<unsigned>(x | 0x100)));
  to.put(__reduce_or_sync(kAll, static_cast<unsigned>(x & 0x33)));
  to.put(__reduce_xor_sync(kAll, static_cast<unsigned>(x)));
  // A part of the warp: the mask names exactly the lanes that come here.
  uint32_t part = 0;
  if (lane < 16) part = __ballot_sync(kLow, x & 2) ^ __reduce_add_sync(kLow, static_cast<unsigned>(x));
  to.put(part);
  __syncwarp();
  to.put(__activemask() >> lane & 1);  // which others are active is up to the scheduler
}

void reference(const std::vector<int>& in, std::vector<uint32_t>& out) {
  for (int i = 0; i < kThreads; ++i) {
    const int base = i & ~31, lane = i & 31;
    bool all_low = true, all = true, any = false, match_three = true;
    uint32_t odd = 0, three = 0, four = 0, sum = 0, bits_and = ~0u, bits_or = 0, bits_xor = 0, low_ballot = 0,
             low_sum = 0;
    int least = INT32_MAX, most = INT32_MIN;
    uint32_t least_u = ~0u, most_u = 0;
    for (int k = 0; k < 32; ++k) {
      const int x = in[base + k];
      const uint32_t u = static_cast<uint32_t>(x), bit = 1u << k;
      all_low = all_low && x > -5000;
      all = all && x > 0;
      any = any || x > 900;
      if (x & 1) odd |= bit;
      if (x % 3 == in[i] % 3) three |= bit;
      if (x % 4 == in[i] % 4) four |= bit;
      match_three = match_three && x % 3 == in[base] % 3;
      sum += u;
      least = x < least ? x : least;
      most = x > most ? x : most;
      least_u = u < least_u ? u : least_u;
      most_u = u > most_u ? u : most_u;
      bits_and &= u | 0x100;
      bits_or |= u & 0x33;
      bits_xor ^= u;
      if (k < 16) {
        if (x & 2) low_ballot |= bit;
        low_sum += u;
      }
    }
    const uint32_t rows[kRows] = {all_low,
                                  all,
                                  any,
                                  0,
                                  odd,
                                  1,
                                  three,
                                  four,
                                  match_three ? kAll : 0,
                                  match_three,
                                  kAll,
                                  1,
                                  sum,
                                  static_cast<uint32_t>(least),
                                  static_cast<uint32_t>(most),
                                  least_u,
                                  most_u,
                                  bits_and,
                                  bits_or,
                                  bits_xor,
                                  lane < 16 ? low_ballot ^ low_sum : 0,
                                  1};
    Column<uint32_t> to{out.data(), kThreads, i};
    for (uint32_t row : rows) to.put(row);
  }
}

int main() {
  Report report("votes");
  Random random(13);
  std::vector<int> in(kThreads);
  for (int i = 0; i < kThreads; ++i) in[i] = i < 32 ? random.below(2000) - 1000 : 3 * random.below(300) + 1;
  std::vector<uint32_t> want(kRows * kThreads);
  reference(in, want);
  DeviceBuffer<int> input(in);
  DeviceBuffer<uint32_t> output(kRows * kThreads);
  vote<<<1, kThreads>>>(input.get(), output.get());
  LAUNCHED_OK();
  report.equal("votes", output.download(), want);
  return report.finish();
}
