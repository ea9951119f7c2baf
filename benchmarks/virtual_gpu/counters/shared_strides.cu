// One 32-bit shared access a thread at a stride of 1 to 32 words: conflicts of degree 1 to 32, and a
// broadcast.
#include "buffers.cuh"

constexpr int kThreads = 128;
constexpr int kBlocks = 32;
constexpr int kWords = 4096;

// The tile is filled without conflicts; only the load below is of interest.
__device__ void fill(float* tile, const float* in) {
  for (int i = threadIdx.x; i < kWords; i += kThreads) tile[i] = in[i];
  __syncthreads();
}

template <int kStride>
__global__ void shared_load(const float* in, float* out) {
  __shared__ float tile[kWords];
  fill(tile, in);
  out[blockIdx.x * kThreads + threadIdx.x] = tile[threadIdx.x * kStride % kWords];
}

template <int kStride>
__global__ void shared_store(const float* in, float* out) {
  __shared__ float tile[kWords];
  fill(tile, in);
  const int i = blockIdx.x * kThreads + threadIdx.x;
  tile[threadIdx.x * kStride % kWords] = in[i];
  __syncthreads();
  out[i] = tile[kThreads - 1 - threadIdx.x];
}

__global__ void shared_broadcast(const float* in, float* out) {
  __shared__ float tile[kWords];
  fill(tile, in);
  out[blockIdx.x * kThreads + threadIdx.x] = tile[threadIdx.x / 32 + blockIdx.x];
}

// Four groups of eight lanes, each reading one word: words of different rows, two of them in the same bank.
__global__ void shared_multicast(const float* in, float* out) {
  __shared__ float tile[kWords];
  fill(tile, in);
  const unsigned group = threadIdx.x % 32 / 8;
  out[blockIdx.x * kThreads + threadIdx.x] = tile[32 * group + group % 2];
}

// Scattered words of a small table: random conflicts, with lanes that agree.
__global__ void shared_gather(const float* in, const uint32_t* index, float* out) {
  __shared__ float tile[kWords];
  fill(tile, in);
  const int i = blockIdx.x * kThreads + threadIdx.x;
  out[i] = tile[index[i]];
}

int main() {
  const int n = kThreads * kBlocks;
  float* in = device_buffer<float>(n);
  float* out = device_buffer<float>(n);
  uint32_t* index = to_device(scrambled(n, 256));
  shared_load<1><<<kBlocks, kThreads>>>(in, out);
  shared_load<2><<<kBlocks, kThreads>>>(in, out);
  shared_load<3><<<kBlocks, kThreads>>>(in, out);
  shared_load<4><<<kBlocks, kThreads>>>(in, out);
  shared_load<8><<<kBlocks, kThreads>>>(in, out);
  shared_load<32><<<kBlocks, kThreads>>>(in, out);
  shared_store<2><<<kBlocks, kThreads>>>(in, out);
  shared_store<4><<<kBlocks, kThreads>>>(in, out);
  shared_store<32><<<kBlocks, kThreads>>>(in, out);
  shared_broadcast<<<kBlocks, kThreads>>>(in, out);
  shared_multicast<<<kBlocks, kThreads>>>(in, out);
  shared_gather<<<kBlocks, kThreads>>>(in, index, out);
  return finish({in, out, index});
}
