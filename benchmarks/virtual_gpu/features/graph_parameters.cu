// A graph of three kernels whose parameters change between launches.
#include "../programs/check.cuh"

__global__ void affine(int* values, int factor, int offset) {
  values[threadIdx.x] = values[threadIdx.x] * factor + offset;
}

int main() {
  Report report("graph_parameters");
  DeviceBuffer<int> values(64);
  values.fill_bytes(0);
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaGraphNode_t nodes[3];
  CUDA_OK(cudaGraphCreate(&graph, 0));
  int* data = values.get();
  int factor = 2, offset = 1;
  void* arguments[] = {&data, &factor, &offset};
  cudaKernelNodeParams call{};
  call.func = reinterpret_cast<void*>(affine);
  call.gridDim = dim3(1);
  call.blockDim = dim3(64);
  call.kernelParams = arguments;
  for (int i = 0; i < 3; ++i) {
    offset = i + 1;
    CUDA_OK(cudaGraphAddKernelNode(&nodes[i], graph, i > 0 ? &nodes[i - 1] : nullptr, i > 0 ? 1 : 0, &call));
  }
  CUDA_OK(cudaGraphInstantiate(&executable, graph, 0));
  CUDA_OK(cudaGraphLaunch(executable, nullptr));
  CUDA_OK(cudaDeviceSynchronize());
  report.equal("first", values.download(), std::vector<int>(64, ((0 * 2 + 1) * 2 + 2) * 2 + 3));
  factor = 10;
  offset = 7;
  CUDA_OK(cudaGraphExecKernelNodeSetParams(executable, nodes[2], &call));
  CUDA_OK(cudaGraphLaunch(executable, nullptr));
  CUDA_OK(cudaDeviceSynchronize());
  report.equal("second", values.download(), std::vector<int>(64, ((11 * 2 + 1) * 2 + 2) * 10 + 7));
  size_t count = 0;
  CUDA_OK(cudaGraphGetNodes(graph, nullptr, &count));
  report.check(count == 3, "three nodes");
  CUDA_OK(cudaGraphExecDestroy(executable));
  CUDA_OK(cudaGraphDestroy(graph));
  return report.finish();
}
