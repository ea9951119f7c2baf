// Tiled float matrix product in shared memory. The fma order is fixed, so the host repeats it bit for bit.
#include "check.cuh"

constexpr int kTile = 16;

__global__ void multiply(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile + 1];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int k0 = 0; k0 < k; k0 += kTile) {
    const int ka = k0 + threadIdx.x, kb = k0 + threadIdx.y;
    tile_a[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[row * k + ka] : 0.0f;
    tile_b[threadIdx.y][threadIdx.x] = kb < k && column < n ? b[kb * n + column] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int step = 0; step < kTile; ++step)
      sum = __fmaf_rn(tile_a[threadIdx.y][step], tile_b[step][threadIdx.x], sum);
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

int main() {
  Report report("matmul");
  const int m = 50, n = 45, k = 70;
  Random random(30);
  std::vector<float> a(m * k), b(k * n), want(m * n);
  for (float& value : a) value = random.uniform(-1.0f, 1.0f);
  for (float& value : b) value = random.uniform(-1.0f, 1.0f);
  for (int row = 0; row < m; ++row) {
    for (int column = 0; column < n; ++column) {
      float sum = 0;
      // The zero padding of the last tile adds exact zeros, which change nothing.
      for (int step = 0; step < k; ++step) sum = std::fma(a[row * k + step], b[step * n + column], sum);
      want[row * n + column] = sum;
    }
  }
  DeviceBuffer<float> a_input(a), b_input(b), output(m * n);
  multiply<<<dim3(blocks_for(n, kTile), blocks_for(m, kTile)), dim3(kTile, kTile)>>>(
      a_input.get(), b_input.get(), output.get(), m, n, k);
  LAUNCHED_OK();
  report.equal("product", output.download(), want);
  return report.finish();
}
