// Gathers and scatters through an index: no two lanes need share a sector, and some share a word.
#include <algorithm>
#include <numeric>

#include "buffers.cuh"

constexpr int kThreads = 128;
constexpr int kBlocks = 128;
constexpr int kCount = kThreads * kBlocks;

template <typename T>
__global__ void gather(const T* in, const uint32_t* index, T* out) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  out[i] = in[index[i]];
}

template <typename T>
__global__ void scatter(const T* in, const uint32_t* index, T* out) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  out[index[i]] = in[i];
}

std::vector<uint32_t> permutation() {
  std::vector<uint32_t> order(kCount);
  std::iota(order.begin(), order.end(), 0u);
  const std::vector<uint32_t> picks = scrambled(kCount, 1u << 24, 9);
  for (uint32_t i = kCount - 1; i > 0; --i) std::swap(order[i], order[picks[i] % (i + 1)]);
  return order;
}

int main() {
  uint32_t* anywhere = to_device(permutation());
  uint32_t* crowded = to_device(scrambled(kCount, 200));  // few words, so lanes of a warp often agree
  double* in = device_buffer<double>(2 * kCount);
  double* out = device_buffer<double>(2 * kCount);
  gather<<<kBlocks, kThreads>>>(reinterpret_cast<float*>(in), anywhere, reinterpret_cast<float*>(out));
  gather<<<kBlocks, kThreads>>>(reinterpret_cast<float*>(in), crowded, reinterpret_cast<float*>(out));
  gather<<<kBlocks, kThreads>>>(in, anywhere, out);
  gather<<<kBlocks, kThreads>>>(reinterpret_cast<float4*>(in), anywhere, reinterpret_cast<float4*>(out));
  scatter<<<kBlocks, kThreads>>>(reinterpret_cast<float*>(in), anywhere, reinterpret_cast<float*>(out));
  scatter<<<kBlocks, kThreads>>>(in, anywhere, out);
  scatter<<<kBlocks, kThreads>>>(reinterpret_cast<float4*>(in), anywhere, reinterpret_cast<float4*>(out));
  return finish({anywhere, crowded, in, out});
}
