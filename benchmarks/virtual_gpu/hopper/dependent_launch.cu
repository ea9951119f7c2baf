// Programmatic dependent launch: kernels of one stream that may begin before the one before them has ended,
// and wait where they need its results.
#include "../programs/check.cuh"

constexpr int kThreads = 128, kBlocks = 4, kCount = kThreads * kBlocks;

// What needs nothing of the kernel before comes ahead of the wait. No kernel lets the next one begin to write
// early: all wait before they touch what others write.
__global__ void step(const int* in, int* out, int number) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  const int own = (i * 7 + number) % 13;
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
  out[i] = in[kCount - 1 - i] * 2 + own;
}

int main() {
  Report report("dependent_launch");
  Random random(113);
  const int steps = 5;
  std::vector<int> values(kCount), next(kCount);
  for (int& value : values) value = random.below(1000);
  std::vector<DeviceBuffer<int>*> buffers;
  DeviceBuffer<int> first(values), b1(kCount), b2(kCount), b3(kCount), b4(kCount), b5(kCount);
  for (DeviceBuffer<int>* buffer : {&first, &b1, &b2, &b3, &b4, &b5}) buffers.push_back(buffer);
  cudaStream_t stream;
  CUDA_OK(cudaStreamCreate(&stream));
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(kBlocks);
  config.blockDim = dim3(kThreads);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  for (int s = 0; s < steps; ++s)
    CUDA_OK(cudaLaunchKernelEx(&config, step, static_cast<const int*>(buffers[s]->get()),
                               buffers[s + 1]->get(), s));
  CUDA_OK(cudaStreamSynchronize(stream));
  for (int s = 0; s < steps; ++s) {
    for (int i = 0; i < kCount; ++i) next[i] = values[kCount - 1 - i] * 2 + (i * 7 + s) % 13;
    values = next;
  }
  report.equal("steps", buffers[steps]->download(), values);
  CUDA_OK(cudaStreamDestroy(stream));
  return report.finish();
}
