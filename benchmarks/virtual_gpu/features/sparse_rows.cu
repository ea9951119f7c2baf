// A sparse matrix times a vector: one warp per row, and the sum of a warp by shuffles.
#include "../programs/check.cuh"

__global__ void multiply(const int* first, const int* columns, const int* values, const int* x, int rows,
                         int* y) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  int sum = 0;
  for (int e = first[row] + lane; e < first[row + 1]; e += 32) sum += values[e] * x[columns[e]];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (lane == 0) y[row] = sum;
}

int main() {
  Report report("sparse_rows");
  constexpr int kRows = 90, kColumns = 120;
  Random random(42);
  std::vector<int> first{0}, columns, values, x(kColumns), want(kRows);
  for (int& value : x) value = random.below(100) - 50;
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      if (random.below(100) >= row) continue;
      columns.push_back(column);
      values.push_back(random.below(20) - 10);
      want[row] += values.back() * x[column];
    }
    first.push_back(static_cast<int>(columns.size()));
  }
  DeviceBuffer<int> d_first(first), d_columns(columns), d_values(values), d_x(x), y(kRows);
  multiply<<<blocks_for(kRows * 32, 128), 128>>>(d_first.get(), d_columns.get(), d_values.get(), d_x.get(),
                                                 kRows, y.get());
  LAUNCHED_OK();
  report.equal("product", y.download(), want);
  return report.finish();
}
