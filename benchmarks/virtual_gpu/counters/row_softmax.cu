// A softmax over rows of 100 values, one warp a row: a realistic mix of ragged loads, shuffles and stores.
#include "buffers.cuh"

constexpr int kColumns = 100;
constexpr int kWarps = 8;

__global__ void row_softmax(const float* x, float* y, int rows) {
  const int row = blockIdx.x * kWarps + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;
  float largest = -1e30f;
  for (int c = lane; c < kColumns; c += 32) largest = fmaxf(largest, x[row * kColumns + c]);
  for (int d = 16; d > 0; d /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, d));
  float sum = 0.0f;
  for (int c = lane; c < kColumns; c += 32) sum += __expf(x[row * kColumns + c] - largest);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
  for (int c = lane; c < kColumns; c += 32) {
    y[row * kColumns + c] = __expf(x[row * kColumns + c] - largest) / sum;
  }
}

int main() {
  const int rows = 333;
  std::vector<float> values(rows * kColumns);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 23) / 8.0f;
  float* x = to_device(values);
  float* y = to_device(values);
  row_softmax<<<(rows + kWarps - 1) / kWarps, 32 * kWarps>>>(x, y, rows);
  return finish({x, y});
}
