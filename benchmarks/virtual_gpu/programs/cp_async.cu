// cp.async in PTX: 4, 8 and 16 bytes, .ca and .cg, zero-fill by a source size, several groups in flight,
// waits for all but the newest and for everything.
#include "check.cuh"

constexpr int kThreads = 64;

__device__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}
template <int kBytes>
__device__ void copy_ca(void* to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_address(to)), "l"(from), "n"(kBytes)
               : "memory");
}
__device__ void copy_cg(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}
// Copies the first source_bytes and fills the rest of the 16 with zeros.
__device__ void copy_cg_fill(void* to, const void* from, int source_bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(source_bytes)
               : "memory");
}
__device__ void copy_ca_fill(void* to, const void* from, int source_bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(source_bytes)
               : "memory");
}
__device__ void commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int kPending>
__device__ void wait_group() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}
__device__ void wait_all() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

__global__ void sizes(const uint8_t* in, uint8_t* out) {
  __shared__ __align__(16) uint8_t four[kThreads * 4], eight[kThreads * 8], sixteen[kThreads * 16],
      direct[kThreads * 16];
  const int t = threadIdx.x;
  copy_ca<4>(four + t * 4, in + t * 4);
  copy_ca<8>(eight + t * 8, in + t * 8);
  copy_ca<16>(sixteen + t * 16, in + t * 16);
  copy_cg(direct + t * 16, in + (kThreads - 1 - t) * 16);
  wait_all();
  __syncthreads();
  for (int k = t; k < kThreads * 4; k += kThreads) out[k] = four[k];
  for (int k = t; k < kThreads * 8; k += kThreads) out[kThreads * 4 + k] = eight[k];
  for (int k = t; k < kThreads * 16; k += kThreads) out[kThreads * 12 + k] = sixteen[k];
  for (int k = t; k < kThreads * 16; k += kThreads) out[kThreads * 28 + k] = direct[k];
}

// The tail of an array whose length is no multiple of the vector: nothing beyond its end is read.
__global__ void tail(const uint8_t* in, int length, uint8_t* out) {
  __shared__ __align__(16) uint8_t tile[kThreads * 16], words[kThreads * 4];
  const int t = threadIdx.x;
  const int rest = length - t * 16, bytes = rest < 0 ? 0 : rest > 16 ? 16 : rest;
  copy_cg_fill(tile + t * 16, in + (bytes == 0 ? 0 : t * 16), bytes);
  copy_ca_fill(words + t * 4, in + t * 4, t % 5);  // 0 to 4 bytes
  commit();
  wait_group<0>();
  __syncthreads();
  for (int k = t; k < kThreads * 16; k += kThreads) out[k] = tile[k];
  for (int k = t; k < kThreads * 4; k += kThreads) out[kThreads * 16 + k] = words[k];
}

// Three stages in flight: each wait leaves the two newer groups pending.
__global__ void stages(const int4* in, int tiles, int4* sums) {
  __shared__ int4 ring[3][kThreads];
  const int t = threadIdx.x;
  int4 sum = make_int4(0, 0, 0, 0);
  for (int tile = 0; tile < 2; ++tile) {
    if (tile < tiles) copy_cg(&ring[tile][t], in + tile * kThreads + t);
    commit();
  }
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + 2 < tiles) copy_cg(&ring[(tile + 2) % 3][t], in + (tile + 2) * kThreads + t);
    commit();  // an empty group at the end keeps the count right
    wait_group<2>();
    __syncthreads();
    const int4 value = ring[tile % 3][(t + tile) % kThreads];
    sum = make_int4(sum.x + value.x, sum.y ^ value.y, sum.z - value.z, sum.w + value.w * tile);
    __syncthreads();  // all have read before the stage is filled again
  }
  sums[t] = sum;
}

int main() {
  Report report("cp_async");
  Random random(24);
  std::vector<uint8_t> bytes(kThreads * 16), want;
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next32());
  {
    DeviceBuffer<uint8_t> input(bytes), output(kThreads * 44);
    sizes<<<1, kThreads>>>(input.get(), output.get());
    LAUNCHED_OK();
    for (int part : {4, 8, 16}) want.insert(want.end(), bytes.begin(), bytes.begin() + kThreads * part);
    for (int k = 0; k < kThreads * 16; ++k) want.push_back(bytes[(kThreads - 1 - k / 16) * 16 + k % 16]);
    report.equal("sizes", output.download(), want);
  }
  {
    const int length = 37 * 16 + 11;
    const std::vector<uint8_t> cut(bytes.begin(), bytes.begin() + length);
    DeviceBuffer<uint8_t> input(cut), output(kThreads * 20);
    tail<<<1, kThreads>>>(input.get(), length, output.get());
    LAUNCHED_OK();
    want.assign(kThreads * 20, 0);
    for (int k = 0; k < length; ++k) want[k] = cut[k];
    for (int t = 0; t < kThreads; ++t) {
      for (int k = 0; k < t % 5; ++k) want[kThreads * 16 + t * 4 + k] = cut[t * 4 + k];
    }
    report.equal("tail", output.download(), want);
  }
  {
    const int tiles = 7;
    std::vector<int> values(tiles * kThreads * 4), want_sums(kThreads * 4, 0);
    for (int& value : values) value = random.below(100000);
    for (int t = 0; t < kThreads; ++t) {
      for (int tile = 0; tile < tiles; ++tile) {
        const int* value = &values[(tile * kThreads + (t + tile) % kThreads) * 4];
        want_sums[t * 4] += value[0];
        want_sums[t * 4 + 1] ^= value[1];
        want_sums[t * 4 + 2] -= value[2];
        want_sums[t * 4 + 3] += value[3] * tile;
      }
    }
    DeviceBuffer<int> input(values), sums(kThreads * 4);
    stages<<<1, kThreads>>>(reinterpret_cast<const int4*>(input.get()), tiles,
                            reinterpret_cast<int4*>(sums.get()));
    LAUNCHED_OK();
    report.equal("stages", sums.download(), want_sums);
  }
  return report.finish();
}
