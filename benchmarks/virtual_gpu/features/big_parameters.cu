// Structures passed to a kernel by value, up to nearly 4 KiB, and one that is constant in the grid.
#include "../programs/check.cuh"

struct Table {
  int size;
  short values[1900];
  double scale;
};

__global__ void from_value(Table table, double* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < table.size) out[i] = table.values[i] * table.scale;
}

__global__ void from_constant(const __grid_constant__ Table table, double* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < table.size) out[i] += table.values[table.size - 1 - i];
}

int main() {
  Report report("big_parameters");
  Table table{};
  table.size = 1800;
  table.scale = 0.25;
  for (int i = 0; i < table.size; ++i) table.values[i] = static_cast<short>(i * 31 % 2003 - 1000);
  DeviceBuffer<double> output(table.size);
  from_value<<<blocks_for(table.size, 128), 128>>>(table, output.get());
  from_constant<<<blocks_for(table.size, 128), 128>>>(table, output.get());
  LAUNCHED_OK();
  std::vector<double> want;
  for (int i = 0; i < table.size; ++i)
    want.push_back(table.values[i] * 0.25 + table.values[table.size - 1 - i]);
  report.equal("values", output.download(), want);
  return report.finish();
}
