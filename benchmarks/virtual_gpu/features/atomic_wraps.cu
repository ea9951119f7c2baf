// atomicInc and atomicDec wrap at their limits; the old values that they return are all different in a round.
#include "../programs/check.cuh"

__global__ void count(unsigned* counters, unsigned limit, unsigned* old_up, unsigned* old_down) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  old_up[i] = atomicInc(&counters[0], limit);
  old_down[i] = atomicDec(&counters[1], limit);
}

int main() {
  Report report("atomic_wraps");
  constexpr unsigned kLimit = 6, kThreads = 4 * 7 * 8;
  DeviceBuffer<unsigned> counters(2), up(kThreads), down(kThreads);
  counters.fill_bytes(0);
  count<<<4, kThreads / 4>>>(counters.get(), kLimit, up.get(), down.get());
  LAUNCHED_OK();
  std::vector<unsigned> ups(kLimit + 1), downs(kLimit + 1), want(kLimit + 1, kThreads / (kLimit + 1));
  for (unsigned value : up.download()) ups.at(value) += 1;
  for (unsigned value : down.download()) downs.at(value) += 1;
  report.equal("up", ups, want);
  report.equal("down", downs, want);
  report.equal("end", counters.download(), {0, 0});
  return report.finish();
}
