// A cooperative launch: all blocks are resident and meet at grid.sync() between the steps of a relaxation.
#include <cooperative_groups.h>

#include "check.cuh"

namespace cg = cooperative_groups;

constexpr int kBlocks = 4, kThreads = 64, kCount = kBlocks * kThreads, kSteps = 6;

// Each step reads neighbours that other blocks wrote in the step before.
__global__ void relax(int* a, int* b, int* visits) {
  cg::grid_group grid = cg::this_grid();
  const int i = static_cast<int>(grid.thread_rank());
  int *from = a, *to = b;
  for (int step = 0; step < kSteps; ++step) {
    to[i] = from[(i + kCount - 1) % kCount] + 2 * from[i] + from[(i + 17) % kCount];
    if (cg::this_thread_block().thread_rank() == 0) atomicAdd(visits + step, 1);
    grid.sync();
    // After the meeting every block's visit is counted.
    if (static_cast<volatile int*>(visits)[step] != static_cast<int>(gridDim.x))
      atomicExch(visits + kSteps, 1);
    int* const swap = from;
    from = to;
    to = swap;
  }
}

void run(Report& report, const char* what, bool through_attribute) {
  std::vector<int> values(kCount), next(kCount);
  for (int i = 0; i < kCount; ++i) values[i] = i * 37 % 101;
  DeviceBuffer<int> a(values), b(kCount), visits(kSteps + 1);
  visits.fill_bytes(0);
  int *a_pointer = a.get(), *b_pointer = b.get(), *visit_pointer = visits.get();
  void* arguments[] = {&a_pointer, &b_pointer, &visit_pointer};
  if (through_attribute) {
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(kBlocks);
    config.blockDim = dim3(kThreads);
    config.attrs = &attribute;
    config.numAttrs = 1;
    CUDA_OK(cudaLaunchKernelEx(&config, relax, a_pointer, b_pointer, visit_pointer));
  } else {
    CUDA_OK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(relax), dim3(kBlocks), dim3(kThreads),
                                        arguments, 0, nullptr));
  }
  CUDA_OK(cudaDeviceSynchronize());
  for (int step = 0; step < kSteps; ++step) {
    for (int i = 0; i < kCount; ++i)
      next[i] = values[(i + kCount - 1) % kCount] + 2 * values[i] + values[(i + 17) % kCount];
    values = next;
  }
  report.equal(what, a.download(), values);
  std::vector<int> want_visits(kSteps + 1, kBlocks);
  want_visits[kSteps] = 0;
  report.equal("visits", visits.download(), want_visits);
}

int main() {
  Report report("cooperative_grid");
  int supported = 0;
  CUDA_OK(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0));
  report.check(supported == 1, "the device supports cooperative launches");
  run(report, "cudaLaunchCooperativeKernel", false);
  run(report, "cooperative_attribute", true);
  return report.finish();
}
