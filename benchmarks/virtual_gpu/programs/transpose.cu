// Tiled transposes through shared memory with a padding column, of 4-byte and 1-byte elements, odd edges
// included.
#include "check.cuh"

constexpr int kTile = 32, kRowsPerStep = 8;

template <typename T>
__global__ void transpose(const T* in, T* out, int rows, int columns) {
  // One more column than needed: a column then falls into 32 different banks.
  __shared__ T tile[kTile][kTile + 1];
  const int column = blockIdx.x * kTile + threadIdx.x, row = blockIdx.y * kTile + threadIdx.y;
  for (int step = 0; step < kTile; step += kRowsPerStep) {
    if (row + step < rows && column < columns)
      tile[threadIdx.y + step][threadIdx.x] = in[(row + step) * columns + column];
  }
  __syncthreads();
  const int out_column = blockIdx.y * kTile + threadIdx.x, out_row = blockIdx.x * kTile + threadIdx.y;
  for (int step = 0; step < kTile; step += kRowsPerStep) {
    if (out_row + step < columns && out_column < rows) {
      out[(out_row + step) * rows + out_column] = tile[threadIdx.x][threadIdx.y + step];
    }
  }
}

template <typename T>
void run(Report& report, const char* what, int rows, int columns) {
  Random random(rows);
  std::vector<T> in(rows * columns), want(rows * columns);
  for (T& value : in) value = static_cast<T>(random.next32() >> 1);
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) want[c * rows + r] = in[r * columns + c];
  }
  DeviceBuffer<T> input(in), output(in.size());
  const dim3 grid(blocks_for(columns, kTile), blocks_for(rows, kTile)), block(kTile, kRowsPerStep);
  transpose<T><<<grid, block>>>(input.get(), output.get(), rows, columns);
  LAUNCHED_OK();
  report.equal(what, output.download(), want);
}

int main() {
  Report report("transpose");
  run<int>(report, "int", 70, 101);
  run<uint8_t>(report, "byte", 33, 64);
  run<double>(report, "double", 40, 24);
  return report.finish();
}
