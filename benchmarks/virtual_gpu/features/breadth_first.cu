// Levels of a graph's nodes from one of them: a frontier that grows by atomics, launch after launch.
#include "../programs/check.cuh"

__global__ void expand(const int* first, const int* edges, const int* frontier, int count, int level,
                       int* levels, int* next, int* next_count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  for (int e = first[frontier[i]]; e < first[frontier[i] + 1]; ++e)
    if (atomicCAS(&levels[edges[e]], -1, level) == -1) next[atomicAdd(next_count, 1)] = edges[e];
}

int main() {
  Report report("breadth_first");
  constexpr int kNodes = 400;
  Random random(19);
  std::vector<int> first{0}, edges, want(kNodes, -1), queue{0};
  for (int node = 0; node < kNodes; ++node) {
    for (int e = random.below(4); e >= 0; --e) edges.push_back(random.below(kNodes));
    first.push_back(static_cast<int>(edges.size()));
  }
  want[0] = 0;
  for (size_t at = 0; at < queue.size(); ++at)
    for (int e = first[queue[at]]; e < first[queue[at] + 1]; ++e)
      if (want[edges[e]] < 0) {
        want[edges[e]] = want[queue[at]] + 1;
        queue.push_back(edges[e]);
      }
  std::vector<int> levels(kNodes, -1);
  levels[0] = 0;
  DeviceBuffer<int> d_first(first), d_edges(edges), d_levels(levels), a(kNodes), b(kNodes), d_count(1);
  a.fill_bytes(0);
  int count = 1;
  for (int level = 1; count > 0; ++level) {
    d_count.fill_bytes(0);
    expand<<<blocks_for(count, 64), 64>>>(d_first.get(), d_edges.get(), (level % 2 == 1 ? a : b).get(), count,
                                          level, d_levels.get(), (level % 2 == 1 ? b : a).get(),
                                          d_count.get());
    LAUNCHED_OK();
    count = d_count.download()[0];
  }
  report.equal("levels", d_levels.download(), want);
  return report.finish();
}
