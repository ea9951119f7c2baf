// Sums the rows of a matrix, one thread a row, with <= where < was meant: every row takes one value of the
// next, and the last row reads past the end of the matrix.
#include "verdict.cuh"

__global__ void row_sums(const float* matrix, float* sums, int rows, int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
#ifdef FIXED
  for (int column = 0; column < columns; ++column) {
#else
  for (int column = 0; column <= columns; ++column) {
#endif
    sum += matrix[row * columns + column];  // expect: memory
  }
  sums[row] = sum;
}

int main() {
  const int rows = 96, columns = 33;
  const std::vector<float> matrix = small_numbers(rows * columns);
  float* device_matrix = to_device(matrix);
  float* device_sums = device_zeros<float>(rows);
  row_sums<<<2, 64>>>(device_matrix, device_sums, rows, columns);
  const std::vector<float> sums = to_host(device_sums, rows);
  bool right = true;
  for (int row = 0; row < rows; ++row) {
    float expected = 0.0f;
    for (int column = 0; column < columns; ++column) expected += matrix[row * columns + column];
    right = right && sums[row] == expected;
  }
  cudaFree(device_matrix);
  cudaFree(device_sums);
  return verdict(right);
}
