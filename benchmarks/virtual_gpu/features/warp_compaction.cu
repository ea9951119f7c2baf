// Each warp moves the elements that pass a test to the front, in order, with one ballot.
#include "../programs/check.cuh"

__global__ void compact(const int* in, int* out, int* counts) {
  const int lane = threadIdx.x & 31, warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const int value = in[warp * 32 + lane];
  const bool keep = value % 3 != 0;
  const unsigned kept = __ballot_sync(~0u, keep);
  if (keep) out[warp * 32 + __popc(kept & ((1u << lane) - 1))] = value;
  if (lane == 0) counts[warp] = __popc(kept);
}

int main() {
  Report report("warp_compaction");
  constexpr int kWarps = 12;
  Random random(3);
  std::vector<int> values(kWarps * 32), want(kWarps * 32, -1), want_counts(kWarps);
  for (int& value : values) value = random.below(1000);
  for (int i = 0; i < kWarps * 32; ++i)
    if (values[i] % 3 != 0) want[i / 32 * 32 + want_counts[i / 32]++] = values[i];
  DeviceBuffer<int> input(values), output(kWarps * 32), counts(kWarps);
  output.fill_bytes(0xff);
  compact<<<kWarps / 4, 128>>>(input.get(), output.get(), counts.get());
  LAUNCHED_OK();
  report.equal("kept", output.download(), want);
  report.equal("counts", counts.download(), want_counts);
  return report.finish();
}
