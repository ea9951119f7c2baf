// A product of matrices of whole numbers with tiles in shared memory and ragged edges.
#include "../programs/check.cuh"

constexpr int kTile = 8;

__global__ void multiply(const int* a, const int* b, int* c, int m, int n, int k) {
  __shared__ int ta[kTile][kTile], tb[kTile][kTile + 1];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  int sum = 0;
  for (int at = 0; at < k; at += kTile) {
    const int x = at + threadIdx.x, y = at + threadIdx.y;
    ta[threadIdx.y][threadIdx.x] = row < m && x < k ? a[row * k + x] : 0;
    tb[threadIdx.y][threadIdx.x] = y < k && column < n ? b[y * n + column] : 0;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

int main() {
  Report report("tiled_matmul");
  constexpr int m = 21, n = 30, k = 19;
  Random random(44);
  std::vector<int> a(m * k), b(k * n), want(m * n);
  for (int& value : a) value = random.below(40) - 20;
  for (int& value : b) value = random.below(40) - 20;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      for (int p = 0; p < k; ++p) want[i * n + j] += a[i * k + p] * b[p * n + j];
  DeviceBuffer<int> da(a), db(b), dc(m * n);
  multiply<<<dim3(blocks_for(n, kTile), blocks_for(m, kTile)), dim3(kTile, kTile)>>>(da.get(), db.get(),
                                                                                     dc.get(), m, n, k);
  LAUNCHED_OK();
  report.equal("product", dc.download(), want);
  return report.finish();
}
