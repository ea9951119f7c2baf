// Grids and blocks of three dimensions cover a volume once, whatever their shape.
#include "../programs/check.cuh"

__global__ void visit(int3 size, int* visits) {
  for (int z = blockIdx.z * blockDim.z + threadIdx.z; z < size.z; z += gridDim.z * blockDim.z)
    for (int y = blockIdx.y * blockDim.y + threadIdx.y; y < size.y; y += gridDim.y * blockDim.y)
      for (int x = blockIdx.x * blockDim.x + threadIdx.x; x < size.x; x += gridDim.x * blockDim.x)
        visits[(z * size.y + y) * size.x + x] += 1 + x + 10 * y + 100 * z;
}

int main() {
  Report report("grid_shapes");
  const int3 size = make_int3(13, 7, 5);
  std::vector<int> want;
  for (int z = 0; z < size.z; ++z)
    for (int y = 0; y < size.y; ++y)
      for (int x = 0; x < size.x; ++x) want.push_back(1 + x + 10 * y + 100 * z);
  const dim3 shapes[][2] = {{dim3(1), dim3(1)},
                            {dim3(4, 2, 3), dim3(3, 4, 2)},
                            {dim3(1, 1, 5), dim3(32, 2, 1)},
                            {dim3(2, 7, 1), dim3(1, 1, 64)},
                            {dim3(13, 7, 5), dim3(1)}};
  for (const auto& shape : shapes) {
    DeviceBuffer<int> visits(want.size());
    visits.fill_bytes(0);
    visit<<<shape[0], shape[1]>>>(size, visits.get());
    LAUNCHED_OK();
    report.equal("visits", visits.download(), want);
  }
  return report.finish();
}
