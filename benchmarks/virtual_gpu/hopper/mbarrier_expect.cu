// Expected bytes apart from arrivals: announced in parts, by several threads, before and after their copies,
// and in phases that expect none.
#include "../programs/check.cuh"
#include "instructions.cuh"

using namespace hopper;

constexpr int kPiece = 64;  // ints
constexpr int kPieces = 4, kPhases = 5;

__device__ void expect(uint64_t* barrier, uint32_t bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(bytes)
               : "memory");
}

// Lane 0 of each warp brings one piece; the even phases have all pieces, the odd ones only some.
__global__ void pieces(const int* in, int* out) {
  __shared__ __align__(128) int tile[kPieces * kPiece];
  __shared__ uint64_t barrier;
  const int warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, kPieces);
    fence_barrier_init();
  }
  __syncthreads();
  int sum = 0;
  for (int phase = 0; phase < kPhases; ++phase) {
    if (threadIdx.x % 32 == 0) {
      int* to = tile + warp * kPiece;
      const int* from = in + (phase * kPieces + warp) * kPiece;
      constexpr uint32_t kBytes = kPiece * sizeof(int);
      const bool brings = phase % 2 == 0 || warp < phase / 2;
      if (brings && warp % 2 == 0) {  // its own arrival is still to come, so the phase cannot end between
        copy_in(to, from, kBytes / 2, &barrier);
        expect(&barrier, kBytes);
        copy_in(to + kPiece / 2, from + kPiece / 2, kBytes / 2, &barrier);
      } else if (brings) {
        expect(&barrier, kBytes / 2);
        expect(&barrier, kBytes / 2);
        copy_in(to, from, kBytes, &barrier);
      }
      arrive(&barrier);
    }
    wait(&barrier, phase & 1);
    for (int i = threadIdx.x; i < kPieces * kPiece; i += blockDim.x) sum = sum * 3 + tile[i];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

int main() {
  Report report("mbarrier_expect");
  Random random(82);
  std::vector<int> values(kPhases * kPieces * kPiece), tile(kPieces * kPiece);
  for (int& value : values) value = random.below(100);
  const int threads = kPieces * 32;
  DeviceBuffer<int> in(values), out(threads);
  pieces<<<2, threads>>>(in.get(), out.get());
  LAUNCHED_OK();
  std::vector<int> want(threads);
  for (int phase = 0; phase < kPhases; ++phase) {
    for (int i = 0; i < kPieces * kPiece; ++i)
      if (phase % 2 == 0 || i / kPiece < phase / 2) tile[i] = values[phase * kPieces * kPiece + i];
    for (int t = 0; t < threads; ++t)
      for (int i = t; i < kPieces * kPiece; i += threads) want[t] = want[t] * 3 + tile[i];
  }
  report.equal("pieces", out.download(), want);
  return report.finish();
}
