// Atomics of a block, of the device and of the system, on the memory that each is for.
#include "../programs/check.cuh"

__global__ void add(int* of_block, int* of_device, int* of_system) {
  atomicAdd_block(&of_block[blockIdx.x], 1);
  atomicAdd(of_device, 2);
  atomicAdd_system(of_system, 3);
  atomicMax_system(&of_system[1], static_cast<int>(threadIdx.x));
  atomicOr_block(&of_block[gridDim.x + blockIdx.x], 1 << (threadIdx.x & 31));
}

int main() {
  Report report("atomic_scopes");
  constexpr int kBlocks = 5, kThreads = 70;
  DeviceBuffer<int> of_block(2 * kBlocks), of_device(1);
  of_block.fill_bytes(0);
  of_device.fill_bytes(0);
  int* of_system = nullptr;
  CUDA_OK(cudaMallocHost(&of_system, 2 * sizeof(int)));
  of_system[0] = of_system[1] = 0;
  add<<<kBlocks, kThreads>>>(of_block.get(), of_device.get(), of_system);
  LAUNCHED_OK();
  std::vector<int> want(2 * kBlocks, kThreads);
  for (int i = kBlocks; i < 2 * kBlocks; ++i) want[i] = -1;
  report.equal("of_block", of_block.download(), want);
  report.equal("of_device", of_device.download(), {2 * kBlocks * kThreads});
  report.check(of_system[0] == 3 * kBlocks * kThreads && of_system[1] == kThreads - 1, "pinned memory");
  CUDA_OK(cudaFreeHost(of_system));
  return report.finish();
}
