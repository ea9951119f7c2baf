// A graph with a fill, a copy, a kernel, a host function and a child graph.
#include "../programs/check.cuh"

__global__ void add(int* values, int by) {
  values[threadIdx.x] += by;
}
void CUDART_CB count(void* calls) {
  *static_cast<int*>(calls) += 1;
}

int main() {
  Report report("graph_kinds");
  DeviceBuffer<int> a(32), b(32);
  std::vector<int> got(32);
  int calls = 0, by = 5;
  cudaGraph_t graph, child;
  cudaGraphNode_t filled, copied, added, inner, nested, called, back;
  CUDA_OK(cudaGraphCreate(&graph, 0));
  CUDA_OK(cudaGraphCreate(&child, 0));
  int* data = b.get();
  void* arguments[] = {&data, &by};
  cudaKernelNodeParams call{};
  call.func = reinterpret_cast<void*>(add);
  call.gridDim = dim3(1);
  call.blockDim = dim3(32);
  call.kernelParams = arguments;
  CUDA_OK(cudaGraphAddKernelNode(&inner, child, nullptr, 0, &call));
  cudaMemsetParams fill{};
  fill.dst = a.get();
  fill.value = 7;
  fill.elementSize = 4;
  fill.width = 32;
  fill.height = 1;
  CUDA_OK(cudaGraphAddMemsetNode(&filled, graph, nullptr, 0, &fill));
  CUDA_OK(cudaGraphAddMemcpyNode1D(&copied, graph, &filled, 1, b.get(), a.get(), 32 * sizeof(int),
                                   cudaMemcpyDeviceToDevice));
  by = 100;
  CUDA_OK(cudaGraphAddKernelNode(&added, graph, &copied, 1, &call));
  CUDA_OK(cudaGraphAddChildGraphNode(&nested, graph, &added, 1, child));
  CUDA_OK(cudaGraphAddMemcpyNode1D(&back, graph, &nested, 1, got.data(), b.get(), 32 * sizeof(int),
                                   cudaMemcpyDeviceToHost));
  cudaHostNodeParams tell{};
  tell.fn = count;
  tell.userData = &calls;
  CUDA_OK(cudaGraphAddHostNode(&called, graph, &back, 1, &tell));
  cudaGraphExec_t executable;
  CUDA_OK(cudaGraphInstantiate(&executable, graph, 0));
  for (int round = 0; round < 3; ++round) CUDA_OK(cudaGraphLaunch(executable, nullptr));
  CUDA_OK(cudaDeviceSynchronize());
  report.equal("values", got, std::vector<int>(32, 112));
  report.check(calls == 3, "the host function ran each time");
  CUDA_OK(cudaGraphExecDestroy(executable));
  CUDA_OK(cudaGraphDestroy(child));
  CUDA_OK(cudaGraphDestroy(graph));
  return report.finish();
}
