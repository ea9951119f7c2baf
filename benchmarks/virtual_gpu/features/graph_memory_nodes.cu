// A graph whose nodes allocate and free memory: scratch memory that lives inside of a launch, and memory that
// one graph allocates and another frees.
#include "../programs/check.cuh"

constexpr int kCount = 256;

__global__ void square(const int* from, int* to) {
  to[threadIdx.x] = from[threadIdx.x] * from[threadIdx.x];
}
__global__ void reverse(const int* from, int* to) {
  to[threadIdx.x] = from[kCount - 1 - threadIdx.x];
}

cudaMemAllocNodeParams on_device(size_t bytes) {
  cudaMemAllocNodeParams allocation{};
  allocation.poolProps.allocType = cudaMemAllocationTypePinned;
  allocation.poolProps.location.type = cudaMemLocationTypeDevice;
  allocation.bytesize = bytes;
  return allocation;
}

cudaGraphNode_t add_kernel(cudaGraph_t graph, cudaGraphNode_t after, void (*kernel)(const int*, int*),
                           const int* from, int* to) {
  void* arguments[] = {&from, &to};
  cudaKernelNodeParams call{};
  call.func = reinterpret_cast<void*>(kernel);
  call.gridDim = dim3(1);
  call.blockDim = dim3(kCount);
  call.kernelParams = arguments;
  cudaGraphNode_t node;
  CUDA_OK(cudaGraphAddKernelNode(&node, graph, &after, 1, &call));
  return node;
}

cudaGraphExec_t instantiated(cudaGraph_t graph) {
  cudaGraphExec_t executable;
  CUDA_OK(cudaGraphInstantiate(&executable, graph, 0));
  CUDA_OK(cudaGraphDestroy(graph));
  return executable;
}

int main() {
  Report report("graph_memory_nodes");
  std::vector<int> input(kCount), expected(kCount);
  for (int i = 0; i < kCount; ++i) input[i] = 3 * i - 50;
  for (int i = 0; i < kCount; ++i) expected[i] = input[kCount - 1 - i] * input[kCount - 1 - i];
  DeviceBuffer<int> from(input), to(kCount);
  const size_t bytes = kCount * sizeof(int);

  // Scratch memory between two kernels.
  cudaGraph_t graph;
  cudaGraphNode_t allocated, freed;
  CUDA_OK(cudaGraphCreate(&graph, 0));
  cudaMemAllocNodeParams scratch = on_device(bytes);
  CUDA_OK(cudaGraphAddMemAllocNode(&allocated, graph, nullptr, 0, &scratch));
  report.check(scratch.dptr != nullptr, "the address is there with the node");
  const cudaGraphNode_t squared =
      add_kernel(graph, allocated, square, from.get(), static_cast<int*>(scratch.dptr));
  const cudaGraphNode_t reversed =
      add_kernel(graph, squared, reverse, static_cast<int*>(scratch.dptr), to.get());
  CUDA_OK(cudaGraphAddMemFreeNode(&freed, graph, &reversed, 1, scratch.dptr));
  void* freed_address = nullptr;
  CUDA_OK(cudaGraphMemFreeNodeGetParams(freed, &freed_address));
  report.check(freed_address == scratch.dptr, "a node that frees knows its address");
  cudaGraphNodeType type;
  CUDA_OK(cudaGraphNodeGetType(allocated, &type));
  report.check(type == cudaGraphNodeTypeMemAlloc, "the kind of the node");
  const cudaGraphExec_t inside = instantiated(graph);
  for (int round = 0; round < 3; ++round) CUDA_OK(cudaGraphLaunch(inside, nullptr));
  report.equal("scratch", to.download(), expected);
  CUDA_OK(cudaGraphExecDestroy(inside));

  // Memory that outlives its graph: another graph reads and frees it, and cudaFree does so the second time.
  CUDA_OK(cudaGraphCreate(&graph, 0));
  cudaGraphNodeParams kept{};
  kept.type = cudaGraphNodeTypeMemAlloc;
  kept.alloc.poolProps = scratch.poolProps;
  kept.alloc.bytesize = bytes;
  CUDA_OK(cudaGraphAddNode(&allocated, graph, nullptr, nullptr, 0, &kept));
  add_kernel(graph, allocated, square, from.get(), static_cast<int*>(kept.alloc.dptr));
  const cudaGraphExec_t makes = instantiated(graph);
  CUDA_OK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t begins;
  CUDA_OK(cudaGraphAddEmptyNode(&begins, graph, nullptr, 0));
  const cudaGraphNode_t read =
      add_kernel(graph, begins, reverse, static_cast<int*>(kept.alloc.dptr), to.get());
  CUDA_OK(cudaGraphAddMemFreeNode(&freed, graph, &read, 1, kept.alloc.dptr));
  const cudaGraphExec_t frees = instantiated(graph);
  to.fill_bytes(0);
  CUDA_OK(cudaGraphLaunch(makes, nullptr));
  CUDA_OK(cudaGraphLaunch(frees, nullptr));
  report.equal("between graphs", to.download(), expected);
  CUDA_OK(cudaGraphLaunch(makes, nullptr));
  CUDA_OK(cudaDeviceSynchronize());
  uint64_t used = 0;
  CUDA_OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
  report.check(used >= bytes, "memory of graphs is in use");
  CUDA_OK(cudaFree(kept.alloc.dptr));
  CUDA_OK(cudaGraphExecDestroy(makes));
  CUDA_OK(cudaGraphExecDestroy(frees));
  CUDA_OK(cudaDeviceGraphMemTrim(0));
  return report.finish();
}
