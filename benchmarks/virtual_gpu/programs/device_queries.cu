// Device properties, function attributes and occupancy: not their figures, which differ from device to
// device, but that they agree with each other.
#include "check.cuh"

constexpr int kStaticWords = 300;

__global__ void __launch_bounds__(128) bounded(int* out) {
  __shared__ int buffer[kStaticWords];
  for (int k = threadIdx.x; k < kStaticWords; k += blockDim.x) buffer[k] = k;
  __syncthreads();
  out[threadIdx.x] = buffer[(threadIdx.x * 7) % kStaticWords];
}

extern __shared__ int dynamic_words[];
__global__ void flexible(int* out) {
  dynamic_words[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = dynamic_words[blockDim.x - 1 - threadIdx.x];
}

void check_device(Report& report) {
  int count = 0, device = -1;
  CUDA_OK(cudaGetDeviceCount(&count));
  report.check(count >= 1, "there is a device");
  CUDA_OK(cudaSetDevice(0));
  CUDA_OK(cudaGetDevice(&device));
  report.check(device == 0, "the device set is the current one");
  cudaDeviceProp properties;
  CUDA_OK(cudaGetDeviceProperties(&properties, 0));
  report.check(properties.warpSize == 32 && properties.maxThreadsPerBlock == 1024,
               "warps of 32, blocks up to 1,024");
  report.check(properties.major >= 8, "compute capability 8.0 or later");
  report.check(properties.sharedMemPerBlock == 48 * 1024, "48 KB of shared memory without asking");
  report.check(properties.sharedMemPerBlockOptin > properties.sharedMemPerBlock &&
                   properties.sharedMemPerBlockOptin <= properties.sharedMemPerMultiprocessor,
               "more on request, up to the multiprocessor's");
  report.check(properties.name[0] != '\0', "the device has a name");
  const struct {
    cudaDeviceAttr attribute;
    int expected;
  } pairs[] = {{cudaDevAttrMultiProcessorCount, properties.multiProcessorCount},
               {cudaDevAttrComputeCapabilityMajor, properties.major},
               {cudaDevAttrComputeCapabilityMinor, properties.minor},
               {cudaDevAttrMaxThreadsPerBlock, properties.maxThreadsPerBlock},
               {cudaDevAttrMaxThreadsPerMultiProcessor, properties.maxThreadsPerMultiProcessor},
               {cudaDevAttrMaxSharedMemoryPerBlockOptin, static_cast<int>(properties.sharedMemPerBlockOptin)},
               {cudaDevAttrMaxRegistersPerBlock, properties.regsPerBlock},
               {cudaDevAttrL2CacheSize, properties.l2CacheSize},
               {cudaDevAttrWarpSize, 32}};
  for (const auto& pair : pairs) {
    int value = -1;
    CUDA_OK(cudaDeviceGetAttribute(&value, pair.attribute, 0));
    report.check(value == pair.expected, "an attribute agrees with the properties");
  }
  int runtime = 0, driver = 0;
  CUDA_OK(cudaRuntimeGetVersion(&runtime));
  CUDA_OK(cudaDriverGetVersion(&driver));
  report.check(runtime >= 13000 && driver >= 13000, "runtime and driver are of CUDA 13");

  // Other programs may use the device at the same time, so an allocation need not show in what is free.
  size_t free = 0, total = 0;
  CUDA_OK(cudaMemGetInfo(&free, &total));
  report.check(free > 0 && free <= total && total <= properties.totalGlobalMem,
               "free memory is part of the total");
}

void check_functions(Report& report) {
  cudaFuncAttributes attributes;
  CUDA_OK(cudaFuncGetAttributes(&attributes, bounded));
  report.check(attributes.sharedSizeBytes == kStaticWords * sizeof(int),
               "static shared memory is what was declared");
  report.check(attributes.numRegs > 0 && attributes.numRegs <= 255, "a register count");
  report.check(attributes.maxThreadsPerBlock == 128, "launch bounds limit the block");
  CUDA_OK(cudaFuncGetAttributes(&attributes, flexible));
  report.check(attributes.maxDynamicSharedSizeBytes == 48 * 1024, "48 KB of dynamic shared memory at first");
  CUDA_OK(cudaFuncSetAttribute(flexible, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
  CUDA_OK(cudaFuncGetAttributes(&attributes, flexible));
  report.check(attributes.maxDynamicSharedSizeBytes == 64 * 1024, "and 64 KB once asked for");
}

void check_occupancy(Report& report) {
  cudaDeviceProp properties;
  CUDA_OK(cudaGetDeviceProperties(&properties, 0));
  int previous = 1 << 20;
  for (int kilobytes : {0, 16, 32, 64}) {
    int blocks = -1;
    CUDA_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, flexible, 128, kilobytes * 1024));
    report.check(blocks >= 1 && blocks <= previous, "more shared memory never means more blocks");
    report.check(blocks * 128 <= properties.maxThreadsPerMultiProcessor,
                 "within the threads of a multiprocessor");
    report.check(blocks * kilobytes * 1024 <= static_cast<int>(properties.sharedMemPerMultiprocessor),
                 "within its shared memory");
    previous = blocks;
  }
  int grid = 0, block = 0;
  CUDA_OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, flexible, 0, 0));
  report.check(block >= 32 && block <= 1024 && block % 32 == 0, "the suggested block is whole warps");
  report.check(grid >= properties.multiProcessorCount, "the suggested grid fills the device");
}

int main() {
  Report report("device_queries");
  check_device(report);
  check_functions(report);
  check_occupancy(report);
  DeviceBuffer<int> first(128), second(96);
  bounded<<<1, 128>>>(first.get());
  LAUNCHED_OK();
  flexible<<<1, 96, 60 * 1024>>>(second.get());
  LAUNCHED_OK();
  std::vector<int> want_first(128), want_second(96);
  for (int i = 0; i < 128; ++i) want_first[i] = i * 7 % kStaticWords;
  for (int i = 0; i < 96; ++i) want_second[i] = 95 - i;
  report.equal("bounded", first.download(), want_first);
  report.equal("flexible", second.download(), want_second);
  return report.finish();
}
