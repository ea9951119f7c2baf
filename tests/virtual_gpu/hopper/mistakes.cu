// A ring of one stage, one producer thread and four consumer warps, with one mistake each:
// tests/virtual_gpu/test_barrier_advice.py.
//   mistakes NAME   runs the kernel with that mistake
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

#include "mbarrier.cuh"

constexpr int kBytes = 1024, kRounds = 4, kConsumers = 4;

enum Mistake {
  kNone,
  kMoreBytes,
  kFewerBytes,
  kFewerBytesOfTwo,
  kOtherBarrier,
  kNoCopy,
  kOnlyExpects,
  kCountsOneMore,
  kCountsOneFewer,
  kEveryLane,
  kParityAhead,
  kBothWait,
  kNoConsumer,
  kNeverReleases,
  kOneRoundMore,
  kOneWarpLeaves,
  kNobodyWaits,
  kParityBehind,
  kArrivesEarly,
  kOneWarpNeverArrives,
  kTwoAnnounce,
  kUnnamed,
};

__device__ void load(void* to, const void* from, int size, Barrier& barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          shared_address(to)),
      "l"(from), "r"(size), "r"(shared_address(&barrier.state))
      : "memory");
}

template <Mistake kMistake>
__device__ void produce(const int* in, int* tile, Barrier& full, Barrier& empty) {
  constexpr int kAnnounced = kMistake == kMoreBytes ? 2 * kBytes : kMistake == kFewerBytes ? 16 : kBytes;
  for (int i = 0; i < kRounds; ++i) {
    uint32_t parity = (i & 1) ^ 1;
    if (kMistake == kBothWait) parity = i & 1;
    if (kMistake == kParityBehind) parity = 1;
    empty.wait(parity);
    if (kMistake == kOnlyExpects)
      asm volatile(
          "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&full.state)),
          "r"(kBytes)
          : "memory");
    else
      full.arrive_and_expect(kAnnounced);
    if (kMistake == kTwoAnnounce) full.arrive_and_expect(kBytes);
    if (kMistake != kNoCopy)
      load(tile, in + i * kBytes / 4, kBytes, kMistake == kOtherBarrier ? empty : full);
  }
}

template <Mistake kMistake>
__device__ void consume(const int* tile, int* out, Barrier& full, Barrier& empty) {
  const int thread = threadIdx.x - 32, lane = threadIdx.x % 32, warp = thread / 32;
  if (kMistake == kNoConsumer) return;
  int sum = 0;
  for (int i = 0; i < kRounds + (kMistake == kOneRoundMore); ++i) {
    if (kMistake == kOneWarpLeaves && warp == 2 && i == 1) return;
    full.wait(i & 1);
    if (kMistake == kArrivesEarly && lane == 0) empty.arrive();
    for (int k = thread; k < kBytes / 4; k += 32 * kConsumers) sum += tile[k];
    if (kMistake == kNeverReleases || kMistake == kArrivesEarly) continue;
    if (kMistake == kOneWarpNeverArrives && warp == 3) continue;
    __syncwarp();
    if (lane == 0 || kMistake == kEveryLane) empty.arrive();
  }
  out[thread] = sum;
}

template <Mistake kMistake>
__global__ void ring(const int* in, int* out) {
  __shared__ __align__(128) int tile[kBytes / 4];
  __shared__ Barrier full, empty;
  extern __shared__ Barrier unnamed[];
  if (kMistake == kUnnamed) {
    if (threadIdx.x == 0) unnamed->init(1);
    __syncthreads();
    unnamed->wait(0);
  }
  constexpr int kCount = kConsumers + (kMistake == kCountsOneMore) - (kMistake == kCountsOneFewer) -
                         (kMistake == kOneWarpNeverArrives);
  if (threadIdx.x == 0) full.init(1), empty.init(kCount);
  __syncthreads();
  if (kMistake == kNobodyWaits || kMistake == kParityAhead) {
    if (threadIdx.x == 0) {
      full.arrive_and_expect(kBytes);
      load(tile, in, kBytes, full);
      if (kMistake == kParityAhead) full.wait(0);
    }
    __syncthreads();
    if (kMistake == kParityAhead) full.wait(1);
    return;
  }
  if (kMistake == kFewerBytesOfTwo) {  // both copies are under way before anybody waits
    if (threadIdx.x == 0) {
      full.arrive_and_expect(16);
      load(tile, in, kBytes / 2, full);
      empty.arrive_and_expect(16);
      load(tile + kBytes / 8, in, kBytes / 2, empty);
    }
    full.wait(0);
    return;
  }
  if (threadIdx.x == 0) produce<kMistake>(in, tile, full, empty);
  if (threadIdx.x >= 32) consume<kMistake>(tile, out, full, empty);
}

struct Named {
  const char* name;
  void (*kernel)(const int*, int*);
};
#define NAMED(mistake) {#mistake, ring<mistake>}
const Named kKernels[] = {
    NAMED(kNone),           NAMED(kMoreBytes),     NAMED(kFewerBytes),   NAMED(kFewerBytesOfTwo),
    NAMED(kOtherBarrier),   NAMED(kNoCopy),        NAMED(kOnlyExpects),  NAMED(kCountsOneMore),
    NAMED(kCountsOneFewer), NAMED(kEveryLane),     NAMED(kParityAhead),  NAMED(kBothWait),
    NAMED(kNoConsumer),     NAMED(kNeverReleases), NAMED(kOneRoundMore), NAMED(kOneWarpLeaves),
    NAMED(kNobodyWaits),    NAMED(kParityBehind),  NAMED(kArrivesEarly), NAMED(kOneWarpNeverArrives),
    NAMED(kTwoAnnounce),    NAMED(kUnnamed),
};

int main(int argc, char** argv) {
  int *in, *out;
  cudaMalloc(&in, kRounds * kBytes), cudaMalloc(&out, 32 * kConsumers * 4);
  cudaMemset(in, 1, kRounds * kBytes);
  for (const Named& each : kKernels)
    if (argc == 2 && std::strcmp(argv[1], each.name) == 0)
      each.kernel<<<1, 32 * (kConsumers + 1), 64>>>(in, out);
  const cudaError_t error = cudaDeviceSynchronize();
  cudaFree(in), cudaFree(out);
  return error != cudaSuccess;
}
