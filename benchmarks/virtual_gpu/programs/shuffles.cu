// The four shuffles over whole warps and sub-warps, on 32- and 64-bit values, and reductions built from them.
#include "check.cuh"

constexpr unsigned kAll = 0xffffffffu;
constexpr int kThreads = 64;

__global__ void shuffle(const uint32_t* in, uint32_t* out) {
  const int i = threadIdx.x, lane = i & 31;
  const uint32_t x = in[i];
  Column<uint32_t> to{out, kThreads, i};
  to.put(__shfl_sync(kAll, x, 5));
  to.put(__shfl_sync(kAll, x, lane * 7 + 3));  // the index wraps at the width
  to.put(__shfl_up_sync(kAll, x, 1));
  to.put(__shfl_down_sync(kAll, x, 9));
  to.put(__shfl_xor_sync(kAll, x, 21));
  to.put(__shfl_sync(kAll, x, 11, 8));
  to.put(__shfl_up_sync(kAll, x, 3, 16));
  to.put(__shfl_down_sync(kAll, x, 2, 4));
  to.put(__shfl_xor_sync(kAll, x, 12, 8));  // beyond the group: only lower groups may be read
  to.put(__shfl_sync(kAll, x, lane ^ 1, 2));
  int in_range;
  uint32_t y;
  asm volatile("{ .reg .pred p; shfl.sync.down.b32 %0|p, %2, 6, 0x1f, 0xffffffff; selp.s32 %1, 1, 0, p; }"
               : "=r"(y), "=r"(in_range)
               : "r"(x));
  to.put(y);
  to.put(in_range);
}

uint32_t shuffled(const std::vector<uint32_t>& in, int i, int source_lane, bool valid) {
  return valid ? in[(i & ~31) + source_lane] : in[i];
}

void reference(const std::vector<uint32_t>& in, std::vector<uint32_t>& out) {
  for (int i = 0; i < kThreads; ++i) {
    const int lane = i & 31;
    Column<uint32_t> to{out.data(), kThreads, i};
    to.put(shuffled(in, i, 5, true));
    to.put(shuffled(in, i, (lane * 7 + 3) % 32, true));
    to.put(shuffled(in, i, lane - 1, lane >= 1));
    to.put(shuffled(in, i, lane + 9, lane + 9 < 32));
    to.put(shuffled(in, i, lane ^ 21, true));
    to.put(shuffled(in, i, lane / 8 * 8 + 11 % 8, true));
    to.put(shuffled(in, i, lane - 3, lane % 16 >= 3));
    to.put(shuffled(in, i, lane + 2, lane % 4 + 2 < 4));
    to.put(shuffled(in, i, lane ^ 12, (lane ^ 12) <= lane / 8 * 8 + 7));
    to.put(shuffled(in, i, lane / 2 * 2 + (lane ^ 1) % 2, true));
    to.put(shuffled(in, i, lane + 6, lane + 6 < 32));
    to.put(lane + 6 < 32 ? 1 : 0);
  }
}

__global__ void wide_and_partial(const uint64_t* in, uint64_t* out, double* sums, int* partial) {
  const int i = threadIdx.x, lane = i & 31;
  const unsigned long long x = in[i];
  out[i] = __shfl_xor_sync(kAll, x, 16) + __shfl_up_sync(kAll, x, 2, 8);
  double sum = static_cast<double>(x & 0xffff);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(kAll, sum, step);
  sums[i] = sum;
  // Only the lower twenty lanes take part; none of them asks a lane outside the mask.
  int seen = -1;
  if (lane < 20) seen = __shfl_sync(0xfffffu, i * 10, (lane + 7) % 20);
  partial[i] = seen;
}

// Inclusive scan within a warp.
__global__ void warp_scan(const uint32_t* in, uint32_t* out) {
  const int i = threadIdx.x, lane = i & 31;
  uint32_t sum = in[i];
  for (int step = 1; step < 32; step *= 2) {
    const uint32_t below = __shfl_up_sync(kAll, sum, step);
    if (lane >= step) sum += below;
  }
  out[i] = sum;
}

int main() {
  Report report("shuffles");
  Random random(12);
  std::vector<uint32_t> in(kThreads), want(12 * kThreads), want_scan(kThreads);
  std::vector<uint64_t> wide(kThreads), want_wide(kThreads);
  std::vector<double> want_sums(kThreads, 0.0);
  std::vector<int> want_partial(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    in[i] = random.next32();
    wide[i] = random.next64();
  }
  reference(in, want);
  for (int i = 0; i < kThreads; ++i) {
    const int lane = i & 31, base = i & ~31;
    want_wide[i] = wide[base + (lane ^ 16)] + wide[lane % 8 >= 2 ? i - 2 : i];
    for (int other = base; other < base + 32; ++other)
      want_sums[i] += static_cast<double>(wide[other] & 0xffff);
    want_partial[i] = lane < 20 ? (base + (lane + 7) % 20) * 10 : -1;
    want_scan[i] = in[i] + (lane > 0 ? want_scan[i - 1] : 0);
  }
  DeviceBuffer<uint32_t> input(in), output(12 * kThreads), scanned(kThreads);
  DeviceBuffer<uint64_t> wide_input(wide), wide_output(kThreads);
  DeviceBuffer<double> sums(kThreads);
  DeviceBuffer<int> partial(kThreads);
  shuffle<<<1, kThreads>>>(input.get(), output.get());
  LAUNCHED_OK();
  wide_and_partial<<<1, kThreads>>>(wide_input.get(), wide_output.get(), sums.get(), partial.get());
  LAUNCHED_OK();
  warp_scan<<<1, kThreads>>>(input.get(), scanned.get());
  LAUNCHED_OK();
  report.equal("shuffles", output.download(), want);
  report.equal("wide", wide_output.download(), want_wide);
  report.equal("sums", sums.download(), want_sums);
  report.equal("partial", partial.download(), want_partial);
  report.equal("scan", scanned.download(), want_scan);
  return report.finish();
}
