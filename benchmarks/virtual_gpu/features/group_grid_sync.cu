// A whole grid meets between the steps of a stencil: a cooperative launch.
#include <cooperative_groups.h>

#include "../programs/check.cuh"

namespace cg = cooperative_groups;

__global__ void smooth(int* a, int* b, int n, int steps) {
  const cg::grid_group grid = cg::this_grid();
  for (int step = 0; step < steps; ++step) {
    for (int i = static_cast<int>(grid.thread_rank()); i < n; i += static_cast<int>(grid.size()))
      b[i] = a[(i + n - 1) % n] + 2 * a[i] - a[(i + 1) % n];
    grid.sync();
    int* const other = a;
    a = b;
    b = other;
  }
}

int main() {
  Report report("group_grid_sync");
  int n = 700, steps = 5;
  Random random(9);
  std::vector<int> values(n), next(n);
  for (int& value : values) value = random.below(100);
  DeviceBuffer<int> a(values), b(n);
  int *pa = a.get(), *pb = b.get();
  void* arguments[] = {&pa, &pb, &n, &steps};
  CUDA_OK(cudaLaunchCooperativeKernel(smooth, dim3(4), dim3(96), arguments));
  LAUNCHED_OK();
  for (int step = 0; step < steps; ++step) {
    for (int i = 0; i < n; ++i) next[i] = values[(i + n - 1) % n] + 2 * values[i] - values[(i + 1) % n];
    values.swap(next);
  }
  report.equal("smoothed", (steps % 2 == 0 ? a : b).download(), values);
  return report.finish();
}
