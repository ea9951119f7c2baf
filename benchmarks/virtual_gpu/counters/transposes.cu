// A matrix transpose in three steps: naive (scattered stores), through a shared tile (32-way conflicts),
// through a padded tile (none).
#include "buffers.cuh"

constexpr int kTile = 32;
constexpr int kRows = 8;

__global__ void transpose_naive(const float* in, float* out, int n) {
  const int column = blockIdx.x * kTile + threadIdx.x;
  for (int r = 0; r < kTile; r += kRows) {
    const int row = blockIdx.y * kTile + threadIdx.y + r;
    out[column * n + row] = in[row * n + column];
  }
}

template <int kPad>
__global__ void transpose_shared(const float* in, float* out, int n) {
  __shared__ float tile[kTile][kTile + kPad];
  const int x0 = blockIdx.x * kTile, y0 = blockIdx.y * kTile;
  for (int r = threadIdx.y; r < kTile; r += kRows) {
    tile[r][threadIdx.x] = in[(y0 + r) * n + x0 + threadIdx.x];
  }
  __syncthreads();
  for (int r = threadIdx.y; r < kTile; r += kRows) {
    out[(x0 + r) * n + y0 + threadIdx.x] = tile[threadIdx.x][r];
  }
}

int main() {
  const int n = 256;
  float* in = device_buffer<float>(n * n);
  float* out = device_buffer<float>(n * n);
  const dim3 grid(n / kTile, n / kTile), block(kTile, kRows);
  transpose_naive<<<grid, block>>>(in, out, n);
  transpose_shared<0><<<grid, block>>>(in, out, n);
  transpose_shared<1><<<grid, block>>>(in, out, n);
  return finish({in, out});
}
