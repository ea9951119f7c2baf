// A table in constant memory, written in parts, and read by threads that want different elements.
#include "../programs/check.cuh"

__constant__ int table[64];
__constant__ float factor = 2.5f;

__global__ void look_up(const int* indices, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = static_cast<float>(table[indices[i]]) * factor;
}

int main() {
  Report report("constant_table");
  std::vector<int> values(64), indices(256);
  Random random(11);
  for (int i = 0; i < 64; ++i) values[i] = i * i - 100;
  for (int& index : indices) index = random.below(64);
  CUDA_OK(cudaMemcpyToSymbol(table, values.data(), 40 * sizeof(int)));
  CUDA_OK(cudaMemcpyToSymbol(table, values.data() + 40, 24 * sizeof(int), 40 * sizeof(int)));
  size_t bytes = 0;
  CUDA_OK(cudaGetSymbolSize(&bytes, table));
  report.check(bytes == sizeof table, "the symbol's size");
  DeviceBuffer<int> input(indices);
  DeviceBuffer<float> output(256);
  std::vector<float> want(256);
  look_up<<<2, 128>>>(input.get(), output.get());
  LAUNCHED_OK();
  for (int i = 0; i < 256; ++i) want[i] = static_cast<float>(values[indices[i]]) * 2.5f;
  report.equal("first", output.download(), want);
  const float other = -1;
  CUDA_OK(cudaMemcpyToSymbol(factor, &other, sizeof other));
  look_up<<<2, 128>>>(input.get(), output.get());
  LAUNCHED_OK();
  for (int i = 0; i < 256; ++i) want[i] = -static_cast<float>(values[indices[i]]);
  report.equal("second", output.download(), want);
  return report.finish();
}
