// cudaLaunchKernelEx with attributes, cudaLaunchKernel with an array of arguments, and both streams of stream
// 0.
#include "../programs/check.cuh"

__global__ void combine(const int* a, int factor, float shift, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = a[i] * factor + static_cast<int>(shift);
}

int main() {
  Report report("launch_attributes");
  std::vector<int> values(128), want(128);
  for (int i = 0; i < 128; ++i) want[i] = (values[i] = i) * 3 + 2;
  DeviceBuffer<int> input(values), output(128);
  cudaLaunchAttribute attributes[1];
  attributes[0].id = cudaLaunchAttributePriority;
  attributes[0].val.priority = 0;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(4);
  config.blockDim = dim3(32);
  config.attrs = attributes;
  config.numAttrs = 1;
  const int* in = input.get();
  CUDA_OK(cudaLaunchKernelEx(&config, combine, in, 3, 2.9f, output.get()));
  LAUNCHED_OK();
  report.equal("extended", output.download(), want);
  int factor = -1;
  float shift = 10;
  int* out = output.get();
  void* arguments[] = {&in, &factor, &shift, &out};
  CUDA_OK(cudaLaunchKernel(reinterpret_cast<void*>(combine), dim3(2), dim3(64), arguments, 0,
                           cudaStreamPerThread));
  CUDA_OK(cudaStreamSynchronize(cudaStreamPerThread));
  for (int i = 0; i < 128; ++i) want[i] = 10 - i;
  report.equal("array", output.download(), want);
  return report.finish();
}
