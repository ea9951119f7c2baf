// Connected components: labels that fall until nothing changes, with a flag that the host reads.
#include <algorithm>

#include "../programs/check.cuh"

__global__ void lower(const int2* edges, int n, int* labels, int* changed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int a = atomicMin(&labels[edges[i].x], 1 << 30), b = atomicMin(&labels[edges[i].y], 1 << 30);
  if (a == b) return;
  atomicMin(&labels[edges[i].x], min(a, b));
  atomicMin(&labels[edges[i].y], min(a, b));
  atomicExch(changed, 1);
}

int main() {
  Report report("components");
  constexpr int kNodes = 300, kEdges = 260;
  Random random(25);
  std::vector<int2> edges(kEdges);
  std::vector<int> labels(kNodes), want(kNodes);
  for (int2& edge : edges) edge = make_int2(random.below(kNodes), random.below(kNodes));
  for (int i = 0; i < kNodes; ++i) labels[i] = want[i] = i;
  for (bool again = true; again;) {
    again = false;
    for (const int2& edge : edges) {
      const int least = std::min(want[edge.x], want[edge.y]);
      again |= want[edge.x] != least || want[edge.y] != least;
      want[edge.x] = want[edge.y] = least;
    }
  }
  DeviceBuffer<int2> d_edges(edges);
  DeviceBuffer<int> d_labels(labels), changed(1);
  do {
    changed.fill_bytes(0);
    lower<<<blocks_for(kEdges, 64), 64>>>(d_edges.get(), kEdges, d_labels.get(), changed.get());
    LAUNCHED_OK();
  } while (changed.download()[0] != 0);
  report.equal("labels", d_labels.download(), want);
  return report.finish();
}
