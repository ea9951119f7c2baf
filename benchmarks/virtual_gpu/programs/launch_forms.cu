// The ways to launch a kernel from the host: chevrons, cudaLaunchKernel, cudaLaunchKernelEx, templates,
// function pointers; with static and dynamic shared memory.
#include "check.cuh"

constexpr int kCount = 256;

extern __shared__ int scratch[];

__global__ void affine(const int* in, int* out, int factor, int64_t offset) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  scratch[threadIdx.x] = in[i] * factor;
  __syncthreads();
  out[i] = scratch[blockDim.x - 1 - threadIdx.x] + static_cast<int>(offset >> 32);
}

template <typename T, int kShift>
__global__ void shift_left(T* data) {
  data[blockIdx.x * blockDim.x + threadIdx.x] <<= kShift;
}

namespace {
// Internal linkage changes the stub's name.
__global__ void hidden(int* data, char3 deltas) {
  data[blockIdx.x * blockDim.x + threadIdx.x] += deltas.x + deltas.y * 10 + deltas.z * 100;
}
}  // namespace

int main() {
  Report report("launch_forms");
  const int threads = 64, blocks = kCount / threads;
  const size_t shared = threads * sizeof(int);
  std::vector<int> in(kCount), want(kCount);
  for (int i = 0; i < kCount; ++i) in[i] = i * i % 1000;
  const auto expected = [&](int factor, int added) {
    for (int i = 0; i < kCount; ++i)
      want[i] = in[i / threads * threads + threads - 1 - i % threads] * factor + added;
    return want;
  };
  DeviceBuffer<int> input(in), output(kCount);
  cudaStream_t stream;
  CUDA_OK(cudaStreamCreate(&stream));

  affine<<<blocks, threads, shared, stream>>>(input.get(), output.get(), 3, 5ll << 32);
  LAUNCHED_OK();
  report.equal("chevrons", output.download(), expected(3, 5));

  const int* in_pointer = input.get();
  int* out_pointer = output.get();
  int factor = -4;
  int64_t offset = 9ll << 32;
  void* arguments[] = {&in_pointer, &out_pointer, &factor, &offset};
  CUDA_OK(cudaLaunchKernel(reinterpret_cast<const void*>(affine), dim3(blocks), dim3(threads), arguments,
                           shared, stream));
  CUDA_OK(cudaStreamSynchronize(stream));
  report.equal("cudaLaunchKernel", output.download(), expected(-4, 9));

  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  CUDA_OK(cudaLaunchKernelEx(&config, affine, in_pointer, out_pointer, 7, -(int64_t{1} << 32)));
  CUDA_OK(cudaStreamSynchronize(stream));
  report.equal("cudaLaunchKernelEx", output.download(), expected(7, -1));

  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributePriority;
  attribute.val.priority = 0;
  config.attrs = &attribute;
  config.numAttrs = 1;
  factor = 11;
  CUDA_OK(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(affine), arguments));
  CUDA_OK(cudaStreamSynchronize(stream));
  report.equal("cudaLaunchKernelExC", output.download(), expected(11, 9));

  output.upload(in);
  shift_left<int, 4><<<blocks, threads>>>(output.get());
  LAUNCHED_OK();
  void (*chosen)(int*, char3) = hidden;
  chosen<<<dim3(blocks / 2, 1, 1), threads * 2>>>(output.get(), make_char3(1, -2, 3));
  LAUNCHED_OK();
  for (int i = 0; i < kCount; ++i) want[i] = in[i] * 16 + 281;
  report.equal("template_and_pointer", output.download(), want);
  CUDA_OK(cudaStreamDestroy(stream));
  return report.finish();
}
