// Threads that take a branch together share one atomic: coalesced groups.
#include <cooperative_groups.h>

#include "../programs/check.cuh"

namespace cg = cooperative_groups;

__global__ void number(const int* values, int* next, int* places) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  places[i] = -1;
  if (values[i] % 5 < 2) {
    const cg::coalesced_group group = cg::coalesced_threads();
    int first = 0;
    if (group.thread_rank() == 0) first = atomicAdd(next, static_cast<int>(group.size()));
    places[i] = group.shfl(first, 0) + static_cast<int>(group.thread_rank());
  }
}

int main() {
  Report report("group_coalesced");
  constexpr int kCount = 512;
  Random random(8);
  std::vector<int> values(kCount);
  int wanted = 0;
  for (int& value : values) wanted += (value = random.below(1000)) % 5 < 2;
  DeviceBuffer<int> input(values), next(1), places(kCount);
  next.fill_bytes(0);
  number<<<4, 128>>>(input.get(), next.get(), places.get());
  LAUNCHED_OK();
  report.equal("count", next.download(), {wanted});
  std::vector<int> taken(wanted), once(wanted, 1);
  const std::vector<int> got = places.download();
  for (int i = 0; i < kCount; ++i) {
    report.check((got[i] >= 0) == (values[i] % 5 < 2), "a place for each that asked");
    if (got[i] >= 0) taken.at(got[i]) += 1;
  }
  report.equal("taken", taken, once);
  return report.finish();
}
