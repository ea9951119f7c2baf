// Rows of a table by their indices: each lane of a warp brings its own row by a bulk copy, and one barrier
// counts all bytes.
#include "../programs/check.cuh"
#include "instructions.cuh"

using namespace hopper;

constexpr int kRow = 40, kRows = 24;  // floats, rows per block

__global__ void gather(const float* table, const int* indices, float* out) {
  __shared__ __align__(128) float tile[kRows][kRow];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0) arrive_expect(&barrier, sizeof tile);
    __syncwarp();
    if (threadIdx.x < kRows)
      copy_in(tile[threadIdx.x], table + indices[blockIdx.x * kRows + threadIdx.x] * kRow, sizeof tile[0],
              &barrier);
  }
  wait(&barrier, 0);
  for (int i = threadIdx.x; i < kRows * kRow; i += blockDim.x)
    out[blockIdx.x * kRows * kRow + i] = tile[i / kRow][i % kRow] * 2.0f;
}

int main() {
  Report report("gather_rows");
  Random random(87);
  const int entries = 100, blocks = 3;
  std::vector<float> table(entries * kRow), want(blocks * kRows * kRow);
  for (float& value : table) value = random.uniform(-1, 1);
  std::vector<int> indices(blocks * kRows);
  for (int& index : indices) index = random.below(entries);
  for (int i = 0; i < blocks * kRows * kRow; ++i) want[i] = table[indices[i / kRow] * kRow + i % kRow] * 2.0f;
  DeviceBuffer<float> device_table(table), out(want.size());
  DeviceBuffer<int> device_indices(indices);
  gather<<<blocks, 64>>>(device_table.get(), device_indices.get(), out.get());
  LAUNCHED_OK();
  report.equal("rows", out.download(), want);
  return report.finish();
}
