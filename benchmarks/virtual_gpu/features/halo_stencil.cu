// A stencil in three dimensions with a halo in shared memory.
#include "../programs/check.cuh"

constexpr int kSide = 6, kX = 18, kY = 12, kZ = 7;

__host__ __device__ int at(const int* v, int x, int y, int z) {
  return x < 0 || y < 0 || z < 0 || x >= kX || y >= kY || z >= kZ ? 0 : v[(z * kY + y) * kX + x];
}

__global__ void stencil(const int* in, int* out) {
  __shared__ int tile[kSide + 2][kSide + 2];
  const int x = blockIdx.x * kSide + threadIdx.x, y = blockIdx.y * kSide + threadIdx.y, z = blockIdx.z;
  const int i = threadIdx.x + 1, j = threadIdx.y + 1;
  tile[j][i] = at(in, x, y, z);
  if (i == 1) tile[j][0] = at(in, x - 1, y, z);
  if (i == kSide) tile[j][kSide + 1] = at(in, x + 1, y, z);
  if (j == 1) tile[0][i] = at(in, x, y - 1, z);
  if (j == kSide) tile[kSide + 1][i] = at(in, x, y + 1, z);
  __syncthreads();
  out[(z * kY + y) * kX + x] = tile[j][i - 1] + tile[j][i + 1] + tile[j - 1][i] + tile[j + 1][i] +
                               at(in, x, y, z - 1) + at(in, x, y, z + 1) - 6 * tile[j][i];
}

int main() {
  Report report("halo_stencil");
  Random random(45);
  std::vector<int> values(kX * kY * kZ), want(kX * kY * kZ);
  for (int& value : values) value = random.below(1000);
  for (int z = 0; z < kZ; ++z)
    for (int y = 0; y < kY; ++y)
      for (int x = 0; x < kX; ++x) {
        const int* v = values.data();
        want[(z * kY + y) * kX + x] = at(v, x - 1, y, z) + at(v, x + 1, y, z) + at(v, x, y - 1, z) +
                                      at(v, x, y + 1, z) + at(v, x, y, z - 1) + at(v, x, y, z + 1) -
                                      6 * at(v, x, y, z);
      }
  DeviceBuffer<int> input(values), output(kX * kY * kZ);
  stencil<<<dim3(kX / kSide, kY / kSide, kZ), dim3(kSide, kSide)>>>(input.get(), output.get());
  LAUNCHED_OK();
  report.equal("stencil", output.download(), want);
  return report.finish();
}
