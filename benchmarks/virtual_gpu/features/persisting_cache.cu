// A part of the L2 cache set aside for one buffer: a hint that changes no result.
#include "../programs/check.cuh"

__global__ void add_table(int* values, const int* table, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += table[i % 64];
}

int main() {
  Report report("persisting_cache");
  constexpr int kCount = 1000;
  cudaDeviceProp device;
  CUDA_OK(cudaGetDeviceProperties(&device, 0));
  report.check(device.persistingL2CacheMaxSize > 0, "there is a part to set aside");
  report.check(device.persistingL2CacheMaxSize <= device.l2CacheSize, "it is a part of the cache");
  int most = 0;
  CUDA_OK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxPersistingL2CacheSize, 0));
  report.check(most == device.persistingL2CacheMaxSize, "the attribute says the same");
  CUDA_OK(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, static_cast<size_t>(most) / 2));
  std::vector<int> table(64), expected(kCount);
  for (int i = 0; i < 64; ++i) table[i] = i * i;
  for (int i = 0; i < kCount; ++i) expected[i] = 2 * table[i % 64];
  DeviceBuffer<int> values(kCount), kept(table);
  values.fill_bytes(0);
  cudaStream_t stream;
  CUDA_OK(cudaStreamCreate(&stream));
  cudaStreamAttrValue window{};
  window.accessPolicyWindow.base_ptr = kept.get();
  window.accessPolicyWindow.num_bytes = kept.bytes();
  window.accessPolicyWindow.hitRatio = 1;
  window.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  window.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  CUDA_OK(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &window));
  for (int round = 0; round < 2; ++round) {
    add_table<<<(kCount + 127) / 128, 128, 0, stream>>>(values.get(), kept.get(), kCount);
    LAUNCHED_OK();
  }
  CUDA_OK(cudaCtxResetPersistingL2Cache());
  report.equal("values", values.download(), expected);
  CUDA_OK(cudaStreamDestroy(stream));
  return report.finish();
}
