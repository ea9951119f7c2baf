// Grids and blocks of three dimensions, odd extents, and partial blocks on every side of a volume.
#include "check.cuh"

__global__ void visit(int* visits, uint64_t* where, int width, int height, int depth) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= width || y >= height || z >= depth) return;
  const int cell = (z * height + y) * width + x;
  atomicAdd(visits + cell, 1);
  const uint64_t thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const uint64_t block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  where[cell] = block << 32 | thread;
}

// A 3-D stencil through a shared halo tile.
__global__ void smooth(const int* in, int* out, int n) {
  __shared__ int tile[6][6][6];
  const int t = (threadIdx.z * 4 + threadIdx.y) * 4 + threadIdx.x;
  for (int k = t; k < 216; k += 64) {
    const int x = blockIdx.x * 4 + k % 6 - 1, y = blockIdx.y * 4 + k / 6 % 6 - 1,
              z = blockIdx.z * 4 + k / 36 - 1;
    const bool inside = x >= 0 && y >= 0 && z >= 0 && x < n && y < n && z < n;
    tile[k / 36][k / 6 % 6][k % 6] = inside ? in[(z * n + y) * n + x] : 0;
  }
  __syncthreads();
  const int x = threadIdx.x + 1, y = threadIdx.y + 1, z = threadIdx.z + 1;
  const int gx = blockIdx.x * 4 + threadIdx.x, gy = blockIdx.y * 4 + threadIdx.y,
            gz = blockIdx.z * 4 + threadIdx.z;
  if (gx < n && gy < n && gz < n) {
    out[(gz * n + gy) * n + gx] = tile[z][y][x] * 2 + tile[z - 1][y][x] + tile[z + 1][y][x] +
                                  tile[z][y - 1][x] + tile[z][y + 1][x] + tile[z][y][x - 1] +
                                  tile[z][y][x + 1];
  }
}

int main() {
  Report report("grid_3d");
  {
    const int width = 19, height = 11, depth = 7, cells = width * height * depth;
    const dim3 block(5, 3, 2), grid(blocks_for(width, 5), blocks_for(height, 3), blocks_for(depth, 2));
    DeviceBuffer<int> visits(cells);
    DeviceBuffer<uint64_t> where(cells);
    visits.fill_bytes(0);
    visit<<<grid, block>>>(visits.get(), where.get(), width, height, depth);
    LAUNCHED_OK();
    std::vector<uint64_t> want(cells);
    for (int cell = 0; cell < cells; ++cell) {
      const int x = cell % width, y = cell / width % height, z = cell / (width * height);
      const uint64_t in_block = static_cast<uint64_t>((z % 2 * 3 + y % 3) * 5 + x % 5);
      want[cell] = static_cast<uint64_t>((z / 2 * grid.y + y / 3) * grid.x + x / 5) << 32 | in_block;
    }
    report.equal("visits", visits.download(), std::vector<int>(cells, 1));
    report.equal("where", where.download(), want);
  }
  {
    const int n = 10;
    Random random(35);
    std::vector<int> in(n * n * n), want(n * n * n);
    for (int& value : in) value = random.below(1000);
    const auto at = [&](int x, int y, int z) {
      return x < 0 || y < 0 || z < 0 || x >= n || y >= n || z >= n ? 0 : in[(z * n + y) * n + x];
    };
    for (int cell = 0; cell < n * n * n; ++cell) {
      const int x = cell % n, y = cell / n % n, z = cell / (n * n);
      want[cell] = 2 * at(x, y, z) + at(x - 1, y, z) + at(x + 1, y, z) + at(x, y - 1, z) + at(x, y + 1, z) +
                   at(x, y, z - 1) + at(x, y, z + 1);
    }
    DeviceBuffer<int> input(in), output(in.size());
    smooth<<<dim3(3, 3, 3), dim3(4, 4, 4)>>>(input.get(), output.get(), n);
    LAUNCHED_OK();
    report.equal("smooth", output.download(), want);
  }
  return report.finish();
}
