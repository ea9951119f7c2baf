// A histogram with one atomic for each group of lanes that found the same bin.
#include "../programs/check.cuh"

__global__ void histogram(const int* values, int* bins) {
  const int value = values[blockIdx.x * blockDim.x + threadIdx.x];
  const unsigned alike = __match_any_sync(~0u, value);
  const int leader = __ffs(static_cast<int>(alike)) - 1;
  if (static_cast<int>(threadIdx.x & 31) == leader) atomicAdd(&bins[value], __popc(alike));
}

__global__ void same_everywhere(const int* values, int* answers) {
  int all = 0;
  const unsigned mask = __match_all_sync(~0u, values[blockIdx.x * 32 + threadIdx.x], &all);
  answers[blockIdx.x * 32 + threadIdx.x] = all != 0 && mask == ~0u;
}

int main() {
  Report report("match_histogram");
  Random random(6);
  std::vector<int> values(1024), want(9), uniform(64, 5);
  for (int& value : values) want[value = random.below(9)] += 1;
  uniform[40] = 6;
  DeviceBuffer<int> input(values), bins(9), second(uniform), answers(64);
  bins.fill_bytes(0);
  histogram<<<8, 128>>>(input.get(), bins.get());
  same_everywhere<<<2, 32>>>(second.get(), answers.get());
  LAUNCHED_OK();
  report.equal("bins", bins.download(), want);
  std::vector<int> same(64);
  for (int i = 0; i < 32; ++i) same[i] = 1;
  report.equal("same", answers.download(), same);
  return report.finish();
}
