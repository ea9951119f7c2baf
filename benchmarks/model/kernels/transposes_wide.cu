// Transposes of a matrix of doubles, and of many small matrices of floats.
#include "bench.cuh"

namespace {

constexpr unsigned kTile = 32;

__global__ void reads_in_rows(const double* from, double* to, unsigned n) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  to[x * n + y] = from[y * n + x];
}

__global__ void writes_in_rows(const double* from, double* to, unsigned n) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  to[y * n + x] = from[x * n + y];
}

// With kPad = 1 the columns of the tile lie in different banks.
template <unsigned kPad>
__global__ void through_tile(const double* from, double* to, unsigned n) {
  __shared__ double tile[kTile][kTile + kPad];
  const unsigned x0 = blockIdx.x * kTile, y0 = blockIdx.y * kTile;
  for (unsigned k = threadIdx.y; k < kTile; k += blockDim.y)
    tile[k][threadIdx.x] = from[(y0 + k) * n + x0 + threadIdx.x];
  __syncthreads();
  for (unsigned k = threadIdx.y; k < kTile; k += blockDim.y)
    to[(x0 + k) * n + y0 + threadIdx.x] = tile[threadIdx.x][k];
}

// Small matrices: a thread has an element of any of them …
__global__ void batch_thread_per_element(const float* from, float* to) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned matrix = i / (kTile * kTile), row = i / kTile % kTile, column = i % kTile;
  to[(matrix * kTile + column) * kTile + row] = from[i];
}

// … or a block has one of them …
__global__ void batch_block_per_matrix(const float* from, float* to) {
  __shared__ float tile[kTile][kTile + 1];
  const unsigned first = blockIdx.x * kTile * kTile;
  for (unsigned i = threadIdx.x; i < kTile * kTile; i += blockDim.x)
    tile[i / kTile][i % kTile] = from[first + i];
  __syncthreads();
  for (unsigned i = threadIdx.x; i < kTile * kTile; i += blockDim.x)
    to[first + i] = tile[i % kTile][i / kTile];
}

// … or a warp, which needs no barrier.
__global__ void batch_warp_per_matrix(const float* from, float* to) {
  __shared__ float tiles[4][kTile][kTile + 1];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned first = (blockIdx.x * 4 + warp) * kTile * kTile;
#pragma unroll 8
  for (unsigned row = 0; row < kTile; ++row) tiles[warp][row][lane] = from[first + row * kTile + lane];
  __syncwarp();
#pragma unroll 8
  for (unsigned row = 0; row < kTile; ++row) to[first + row * kTile + lane] = tiles[warp][lane][row];
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<bench::Case> cases;
  constexpr unsigned kSide = 1024;
  constexpr size_t kBytes = sizeof(double) * kSide * kSide;
  const std::vector<bench::Buffer> square = {{kBytes, bench::Fill::kFloats}, {kBytes, bench::Fill::kZero}};
  auto add = [&](const char* name, auto kernel, unsigned tile_rows) {
    cases.push_back({"transpose_doubles", name, square, [=](const bench::Pointers& p) {
                       kernel<<<dim3(kSide / kTile, kSide / tile_rows), dim3(32, 8)>>>(
                           static_cast<const double*>(p[0]), static_cast<double*>(p[1]), kSide);
                     }});
  };
  add("transpose_doubles_reads_in_rows", reads_in_rows, 8);
  add("transpose_doubles_writes_in_rows", writes_in_rows, 8);
  add("transpose_doubles_tile", through_tile<0>, kTile);
  add("transpose_doubles_tile_padded", through_tile<1>, kTile);
  constexpr unsigned kMatrices = 1024, kElements = kMatrices * kTile * kTile;
  const std::vector<bench::Buffer> batch = {{4 * kElements, bench::Fill::kFloats},
                                            {4 * kElements, bench::Fill::kZero}};
  auto add_batch = [&](const char* name, auto kernel, unsigned grid, unsigned block) {
    cases.push_back({"transpose_batch", name, batch, [=](const bench::Pointers& p) {
                       kernel<<<grid, block>>>(static_cast<const float*>(p[0]), static_cast<float*>(p[1]));
                     }});
  };
  add_batch("transpose_batch_thread_per_element", batch_thread_per_element, kElements / 256, 256);
  add_batch("transpose_batch_block_per_matrix", batch_block_per_matrix, kMatrices, 256);
  add_batch("transpose_batch_warp_per_matrix", batch_warp_per_matrix, kMatrices / 4, 128);
  return bench::main_of(argc, argv, cases);
}
