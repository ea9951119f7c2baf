// What cp_async.cuh promises: every size by both ways, zeros for what is not there, and waits that count
// groups.
#include <vector>

#include "cp_async.cuh"
#include "expect.cuh"

constexpr int kThreads = 64, kWidest = 16;

// A thread's bytes, through shared memory.
template <int kBytes, Cache kCache>
__global__ void through_shared(const uint8_t* in, uint8_t* out) {
  __shared__ __align__(kWidest) uint8_t tile[kThreads * kBytes];
  const int first = threadIdx.x * kBytes;
  copy_async<kBytes, kCache>(tile + first, in + first);
  wait_for_all_copies();
  for (int i = 0; i < kBytes; ++i) out[first + i] = tile[first + i];
}

// Of each thread's bytes only the first `threadIdx.x % (kBytes + 1)` are there.
template <int kBytes, Cache kCache>
__global__ void partly_there(const uint8_t* in, uint8_t* out) {
  __shared__ __align__(kWidest) uint8_t tile[kThreads * kBytes];
  const int first = threadIdx.x * kBytes;
  copy_async_or_zeros<kBytes, kCache>(tile + first, in + first, threadIdx.x % (kBytes + 1));
  commit_copies();
  wait_for_copies<0>();
  for (int i = 0; i < kBytes; ++i) out[first + i] = tile[first + i];
}

// Two groups begun, one waited for at a time.
__global__ void one_group_after_the_other(const uint8_t* in, uint8_t* out) {
  __shared__ __align__(kWidest) uint8_t tiles[2][kThreads * kWidest];
  const int first = threadIdx.x * kWidest;
  copy_16_bytes_async(tiles[0] + first, in + first);
  commit_copies();
  copy_16_bytes_or_zeros_async(tiles[1] + first, in + first, threadIdx.x % 2 == 0);
  commit_copies();
  wait_for_copies<1>();
  for (int i = 0; i < kWidest; ++i) out[first + i] = tiles[0][first + i];
  wait_for_copies<0>();
  for (int i = 0; i < kWidest; ++i) out[first + i] += tiles[1][first + i];
}

std::vector<uint8_t> input;
uint8_t *on_device, *results;

template <class Kernel>
std::vector<uint8_t> results_of(Kernel kernel) {
  std::vector<uint8_t> found(input.size());
  EXPECT(cudaMemset(results, 0xee, found.size()) == cudaSuccess);
  kernel<<<1, kThreads>>>(on_device, results);
  EXPECT(cudaMemcpy(found.data(), results, found.size(), cudaMemcpyDeviceToHost) == cudaSuccess);
  return found;
}

template <int kBytes, Cache kCache>
void a_copy_brings_its_bytes_and_zeros_for_the_rest() {
  const std::vector<uint8_t> whole = results_of(through_shared<kBytes, kCache>);
  const std::vector<uint8_t> part = results_of(partly_there<kBytes, kCache>);
  for (int i = 0; i < kThreads * kBytes; ++i) {
    const int thread = i / kBytes;
    EXPECT(whole[i] == input[i]);
    EXPECT(part[i] == (i % kBytes < thread % (kBytes + 1) ? input[i] : 0));
  }
}

void a_wait_leaves_the_newest_groups() {
  const std::vector<uint8_t> sums = results_of(one_group_after_the_other);
  for (int i = 0; i < kThreads * kWidest; ++i) {
    const int times = i / kWidest % 2 == 0 ? 2 : 1;
    EXPECT(sums[i] == static_cast<uint8_t>(times * input[i]));
  }
}

int main() {
  for (int i = 0; i < kThreads * kWidest; ++i) input.push_back(static_cast<uint8_t>(1 + i % 251));
  EXPECT(cudaMalloc(&on_device, input.size()) == cudaSuccess);
  EXPECT(cudaMalloc(&results, input.size()) == cudaSuccess);
  EXPECT(cudaMemcpy(on_device, input.data(), input.size(), cudaMemcpyHostToDevice) == cudaSuccess);
  a_copy_brings_its_bytes_and_zeros_for_the_rest<4, Cache::kAll>();
  a_copy_brings_its_bytes_and_zeros_for_the_rest<8, Cache::kAll>();
  a_copy_brings_its_bytes_and_zeros_for_the_rest<16, Cache::kAll>();
  a_copy_brings_its_bytes_and_zeros_for_the_rest<16, Cache::kGlobal>();
  a_wait_leaves_the_newest_groups();
  cudaFree(on_device);
  cudaFree(results);
  std::puts("cp_async: ok");
}
