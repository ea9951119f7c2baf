// Tiled matrix product. The barrier after the tiles are loaded is there; the one after they are used is
// not, so a fast warp loads the next tile over the one a slow warp still multiplies with.
#include "verdict.cuh"

constexpr int kTile = 16;

__global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float tile_a[kTile][kTile];
  __shared__ float tile_b[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0.0f;
  for (int k0 = 0; k0 < n; k0 += kTile) {
    // Both tiles race: tile_b between warps, tile_a between the lanes of the warp that owns its two rows.
    tile_a[threadIdx.y][threadIdx.x] = a[row * n + k0 + threadIdx.x];       // other: race
    tile_b[threadIdx.y][threadIdx.x] = b[(k0 + threadIdx.y) * n + column];  // other: race
    __syncthreads();
    for (int k = 0; k < kTile; ++k) {
      sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];  // expect: race
    }
#ifdef FIXED
    __syncthreads();
#endif
  }
  c[row * n + column] = sum;
}

int main() {
  const int n = 64;
  const std::vector<float> a = small_numbers(n * n, 5), b = small_numbers(n * n, 3);
  float* device_a = to_device(a);
  float* device_b = to_device(b);
  float* device_c = device_zeros<float>(n * n);
  matmul<<<dim3(n / kTile, n / kTile), dim3(kTile, kTile)>>>(device_a, device_b, device_c, n);
  const std::vector<float> c = to_host(device_c, n * n);
  bool right = true;
  for (int i = 0; i < n * n; ++i) {
    float expected = 0.0f;
    for (int k = 0; k < n; ++k) expected += a[i / n * n + k] * b[k * n + i % n];
    right = right && c[i] == expected;
  }
  cudaFree(device_a);
  cudaFree(device_b);
  cudaFree(device_c);
  return verdict(right);
}
