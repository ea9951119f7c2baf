// What can be asked of a kernel: attributes, parameters, occupancy, and the block size that suits it.
#include <cxxabi.h>

#include <cstdlib>
#include <string>

#include "expect.cuh"

__global__ void __launch_bounds__(64) small_blocks(int* out) {
  __shared__ int tile[256];
  tile[threadIdx.x] = 1;
  __syncthreads();
  if (out != nullptr) out[threadIdx.x] = tile[63 - threadIdx.x];
}

__global__ void parameters(char a, double b, int* c) {
  if (c != nullptr) *c = a + static_cast<int>(b);
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

int main() {
  cudaFuncAttributes attributes{};
  OK(cudaFuncGetAttributes(&attributes, small_blocks));
  HOLDS(attributes.maxThreadsPerBlock == 64);
  HOLDS(attributes.sharedSizeBytes == 1024);
  HOLDS(attributes.numRegs > 0 && attributes.binaryVersion >= 80 && attributes.ptxVersion >= 80);
  HOLDS(attributes.maxDynamicSharedSizeBytes == 48 * 1024 - 1024);
  OK(cudaFuncGetAttributes(&attributes, parameters));
  HOLDS(attributes.maxThreadsPerBlock == 1024 && attributes.maxDynamicSharedSizeBytes == 48 * 1024);

  cudaLaunchAttribute pairs{};
  pairs.id = cudaLaunchAttributeClusterDimension;
  pairs.val.clusterDim = {2, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(8);
  config.blockDim = dim3(1024);
  config.attrs = &pairs;
  config.numAttrs = 1;
  int clusters = 0, largest = 0, sms = 0;
  OK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  OK(cudaOccupancyMaxPotentialClusterSize(&largest, parameters, &config));
  HOLDS(largest == 8);
  OK(cudaOccupancyMaxActiveClusters(&clusters, parameters, &config));
  HOLDS(clusters > 0 && clusters <= sms);  // two blocks of 1,024 threads fit on one of them
  pairs.val.clusterDim = {4, 4, 1};
  OK(cudaFuncSetAttribute(parameters, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  OK(cudaOccupancyMaxActiveClusters(&clusters, parameters, &config));
  OK(cudaOccupancyMaxPotentialClusterSize(&largest, parameters, &config));
  HOLDS(clusters > 0 && largest == 16);

  int optin = 0;
  OK(cudaDeviceGetAttribute(&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  OK(cudaFuncSetAttribute(parameters, cudaFuncAttributeMaxDynamicSharedMemorySize, optin));
  GIVES(cudaErrorInvalidValue,
        cudaFuncSetAttribute(parameters, cudaFuncAttributeMaxDynamicSharedMemorySize, optin + 1024));
  OK(cudaFuncSetAttribute(parameters, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
  OK(cudaFuncSetCacheConfig(parameters, cudaFuncCachePreferL1));
  OK(cudaFuncGetAttributes(&attributes, parameters));
  HOLDS(attributes.maxDynamicSharedSizeBytes == optin);
  parameters<<<1, 1, optin>>>(1, 2.0, nullptr);
  OK(cudaGetLastError());
  OK(cudaDeviceSynchronize());

  size_t offset = 1, bytes = 0;
  OK(cudaFuncGetParamInfo(reinterpret_cast<const void*>(parameters), 1, &offset, &bytes));
  HOLDS(offset == 8 && bytes == 8);
  GIVES(cudaErrorInvalidValue,
        cudaFuncGetParamInfo(reinterpret_cast<const void*>(parameters), 3, &offset, &bytes));
  const char* name = nullptr;
  OK(cudaFuncGetName(&name, reinterpret_cast<const void*>(parameters)));
  int mangled = -1;
  char* signature = abi::__cxa_demangle(name, nullptr, nullptr, &mangled);
  HOLDS(mangled == 0 && ends_with(signature, "parameters(char, double, int*)"));  // maybe in a namespace
  std::free(signature);

  int blocks = -1;
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, parameters, 256, 0));
  HOLDS(blocks == 8);
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, parameters, 256, optin));
  HOLDS(blocks == 1);
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, parameters, 1025, 0));
  HOLDS(blocks == 0);
  size_t room = 0;
  OK(cudaOccupancyAvailableDynamicSMemPerBlock(&room, parameters, 1, 256));
  HOLDS(room == static_cast<size_t>(optin));
  GIVES(cudaErrorInvalidValue, cudaOccupancyAvailableDynamicSMemPerBlock(&room, parameters, 9, 256));
  int grid = 0, block = 0, processors = 0;
  OK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
  OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, parameters));
  HOLDS(block == 1024 && grid == 2 * processors);
  OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, small_blocks));
  HOLDS(block == 64);
  return finish();
}
