// Visits a table in a scattered order, slot = i * stride mod size. The product needs 33 bits: in int it
// wraps to a negative number, whose remainder is negative too, and the access lands before the table.
#include "verdict.cuh"

__global__ void scatter(const int* table, int* out, int size, int stride) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
#ifdef FIXED
  const int slot = static_cast<int>(static_cast<long long>(i) * stride % size);
#else
  const int slot = i * stride % size;
#endif
  out[i] = table[slot];  // expect: memory
}

int main() {
  const int size = 4096, stride = 1000003;
  std::vector<int> table(size);
  for (int i = 0; i < size; ++i) table[i] = 3 * i + 1;
  int* device_table = to_device(table);
  int* device_out = device_zeros<int>(size);
  scatter<<<size / 256, 256>>>(device_table, device_out, size, stride);
  const std::vector<int> out = to_host(device_out, size);
  bool right = true;
  for (int i = 0; i < size; ++i) right = right && out[i] == table[static_cast<long long>(i) * stride % size];
  cudaFree(device_table);
  cudaFree(device_out);
  return verdict(right);
}
