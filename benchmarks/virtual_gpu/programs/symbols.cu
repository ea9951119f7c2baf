// __constant__ and __device__ variables: initialisers, copies to and from symbols, addresses and sizes.
#include "check.cuh"

constexpr int kCount = 64;

__constant__ int weights[kCount];
__constant__ float initialised[4] = {1.5f, -2.25f, 0.0f, 1024.0f};
__device__ int counter = 7;
__device__ unsigned char bytes[kCount];
__device__ double table[3] = {0.5, -0.125, 3.0};
__device__ int* chosen;  // holds a device address written from the host

__global__ void apply(const int* in, int* out, float* constants, double* doubles) {
  const int i = threadIdx.x;
  // The index differs between lanes for weights and agrees for initialised: both forms of constant access.
  out[i] = in[i] * weights[(i * 5) % kCount] + chosen[i];
  bytes[i] = static_cast<unsigned char>(out[i]);
  if (i < 4) constants[i] = initialised[i] + initialised[2];
  if (i < 3) doubles[i] = table[i];
  if (i == 0) counter += 35;
}

int main() {
  Report report("symbols");
  Random random(4);
  std::vector<int> in(kCount), factors(kCount), offsets(kCount), want(kCount);
  std::vector<unsigned char> want_bytes(kCount);
  for (int i = 0; i < kCount; ++i) {
    in[i] = random.below(1000);
    factors[i] = random.below(1000) - 500;
    offsets[i] = random.below(99);
  }
  for (int i = 0; i < kCount; ++i) {
    want[i] = in[i] * factors[i * 5 % kCount] + offsets[i];
    want_bytes[i] = static_cast<unsigned char>(want[i]);
  }
  DeviceBuffer<int> input(in), offset_buffer(offsets), output(kCount);
  DeviceBuffer<float> constants(4);
  DeviceBuffer<double> doubles(3);

  CUDA_OK(cudaMemcpyToSymbol(weights, factors.data(), kCount / 2 * sizeof(int)));
  CUDA_OK(cudaMemcpyToSymbolAsync(weights, factors.data() + kCount / 2, kCount / 2 * sizeof(int),
                                  kCount / 2 * sizeof(int), cudaMemcpyHostToDevice, nullptr));
  int* const address = offset_buffer.get();
  CUDA_OK(cudaMemcpyToSymbol(chosen, &address, sizeof address));
  apply<<<1, kCount>>>(input.get(), output.get(), constants.get(), doubles.get());
  LAUNCHED_OK();
  report.equal("weighted", output.download(), want);
  report.equal("constants", constants.download(), {1.5f, -2.25f, 0.0f, 1024.0f});
  report.equal("doubles", doubles.download(), {0.5, -0.125, 3.0});

  std::vector<int> count(1);
  CUDA_OK(cudaMemcpyFromSymbol(count.data(), counter, sizeof(int)));
  report.equal("counter", count, {42});
  std::vector<unsigned char> some(kCount - 10);
  CUDA_OK(cudaMemcpyFromSymbol(some.data(), bytes, some.size(), 10));
  report.equal("bytes", some, std::vector<unsigned char>(want_bytes.begin() + 10, want_bytes.end()));

  void* bytes_address = nullptr;
  size_t bytes_size = 0, weights_size = 0;
  CUDA_OK(cudaGetSymbolAddress(&bytes_address, bytes));
  CUDA_OK(cudaGetSymbolSize(&bytes_size, bytes));
  CUDA_OK(cudaGetSymbolSize(&weights_size, weights));
  report.check(bytes_size == kCount && weights_size == kCount * sizeof(int),
               "cudaGetSymbolSize gives the array's size");
  std::vector<unsigned char> all(kCount);
  CUDA_OK(cudaMemcpy(all.data(), bytes_address, kCount, cudaMemcpyDeviceToHost));
  report.equal("bytes_by_address", all, want_bytes);
  return report.finish();
}
