// ldmatrix from rows of 64 halves: unpadded (8-way conflicts), padded by 16 bytes and swizzled (none), with
// one, two and four matrices an instruction.
#include "buffers.cuh"

constexpr int kRows = 64;
constexpr int kChunks = 8;  // 16-byte chunks in a row

enum Layout { kPlain, kPadded, kSwizzled };

template <Layout kLayout>
__device__ int chunk_offset(int row, int chunk) {
  if (kLayout == kPadded) return row * (kChunks + 1) + chunk;
  return row * kChunks + (kLayout == kSwizzled ? chunk ^ (row % 8) : chunk);
}

template <Layout kLayout>
__device__ unsigned filled_tile(uint4* tile, const uint4* in) {
  for (int i = threadIdx.x; i < kRows * kChunks; i += blockDim.x) {
    tile[chunk_offset<kLayout>(i / kChunks, i % kChunks)] = in[i];
  }
  __syncthreads();
  return static_cast<unsigned>(__cvta_generic_to_shared(tile));
}

template <Layout kLayout, bool kTransposed>
__global__ void load_four(const uint4* in, uint4* out) {
  __shared__ uint4 tile[kRows * (kChunks + 1)];
  const unsigned base = filled_tile<kLayout>(tile, in);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned address = base + 16 * chunk_offset<kLayout>(16 * warp + lane % 16, 2 * warp + lane / 16);
  uint4 r;
  if constexpr (kTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w)
                 : "r"(address));
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w)
                 : "r"(address));
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = r;
}

template <Layout kLayout>
__global__ void load_two(const uint4* in, uint2* out) {
  __shared__ uint4 tile[kRows * (kChunks + 1)];
  const unsigned base = filled_tile<kLayout>(tile, in);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned address = base + 16 * chunk_offset<kLayout>(16 * warp + lane % 8, 2 * warp + lane / 8 % 2);
  uint2 r;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(r.x), "=r"(r.y)
               : "r"(address));
  out[blockIdx.x * blockDim.x + threadIdx.x] = r;
}

template <Layout kLayout>
__global__ void load_one(const uint4* in, unsigned* out) {
  __shared__ uint4 tile[kRows * (kChunks + 1)];
  const unsigned base = filled_tile<kLayout>(tile, in);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned address = base + 16 * chunk_offset<kLayout>(16 * warp + lane % 8, 2 * warp);
  unsigned r;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(address));
  out[blockIdx.x * blockDim.x + threadIdx.x] = r;
}

int main() {
  const int threads = 128, blocks = 16;
  uint4* in = device_buffer<uint4>(kRows * kChunks);
  uint4* out = device_buffer<uint4>(threads * blocks);
  load_four<kPlain, false><<<blocks, threads>>>(in, out);
  load_four<kPadded, false><<<blocks, threads>>>(in, out);
  load_four<kSwizzled, false><<<blocks, threads>>>(in, out);
  load_four<kPlain, true><<<blocks, threads>>>(in, out);
  load_four<kPadded, true><<<blocks, threads>>>(in, out);
  load_two<kPlain><<<blocks, threads>>>(in, reinterpret_cast<uint2*>(out));
  load_two<kPadded><<<blocks, threads>>>(in, reinterpret_cast<uint2*>(out));
  load_one<kPlain><<<blocks, threads>>>(in, reinterpret_cast<unsigned*>(out));
  load_one<kPadded><<<blocks, threads>>>(in, reinterpret_cast<unsigned*>(out));
  return finish({in, out});
}
