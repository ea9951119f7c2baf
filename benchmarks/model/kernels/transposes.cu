// Transposes of a square matrix of floats.
#include "bench.cuh"

namespace {

constexpr int kTile = 32;

__global__ void reads_in_rows(const float* from, float* to, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  to[size_t{static_cast<unsigned>(x)} * n + y] = from[size_t{static_cast<unsigned>(y)} * n + x];
}

__global__ void writes_in_rows(const float* from, float* to, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  to[size_t{static_cast<unsigned>(y)} * n + x] = from[size_t{static_cast<unsigned>(x)} * n + y];
}

// A tile in shared memory; kPad = 1 keeps its columns in different banks.
template <int kPad, int kRows>
__global__ void through_tile(const float* __restrict__ from, float* __restrict__ to, int n) {
  __shared__ float tile[kTile][kTile + kPad];
  int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
#pragma unroll
  for (int k = 0; k < kTile; k += kRows)
    tile[threadIdx.y + k][threadIdx.x] = from[size_t{static_cast<unsigned>(y + k)} * n + x];
  __syncthreads();
  x = blockIdx.y * kTile + threadIdx.x;
  y = blockIdx.x * kTile + threadIdx.y;
#pragma unroll
  for (int k = 0; k < kTile; k += kRows)
    to[size_t{static_cast<unsigned>(y + k)} * n + x] = tile[threadIdx.x][threadIdx.y + k];
}

__global__ void copy_tiles(const float* from, float* to, int n) {
  const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
#pragma unroll
  for (int k = 0; k < kTile; k += 8)
    to[size_t{static_cast<unsigned>(y + k)} * n + x] = from[size_t{static_cast<unsigned>(y + k)} * n + x];
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<bench::Case> cases;
  for (int n : {512, 2048}) {
    const size_t bytes = size_t{4} * n * n;
    const std::vector<bench::Buffer> buffers = {{bytes, bench::Fill::kFloats}, {bytes, bench::Fill::kZero}};
    const std::string size = "_" + std::to_string(n);
    auto add = [&](const char* name, auto kernel, dim3 block) {
      const unsigned tiles = static_cast<unsigned>(n / kTile);
      const unsigned rows = block.y == 8 && std::strncmp(name, "transpose_naive", 15) == 0 ? 4 : 1;
      cases.push_back({"transpose" + size, name + size, buffers, [=](const bench::Pointers& p) {
                         kernel<<<dim3(tiles, tiles * rows), block>>>(static_cast<const float*>(p[0]),
                                                                      static_cast<float*>(p[1]), n);
                       }});
    };
    add("transpose_naive_reads_in_rows", reads_in_rows, dim3(32, 8));
    add("transpose_naive_writes_in_rows", writes_in_rows, dim3(32, 8));
    add("transpose_tile", through_tile<0, 8>, dim3(32, 8));
    add("transpose_tile_padded", through_tile<1, 8>, dim3(32, 8));
    add("transpose_tile_padded_1024_threads", through_tile<1, 32>, dim3(32, 32));
    add("transpose_none_just_copy", copy_tiles, dim3(32, 8));
  }
  return bench::main_of(argc, argv, cases);
}
