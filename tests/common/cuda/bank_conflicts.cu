// Places of 16 bytes in shared memory, read and written by a warp; for each launch a line with its kernel's
// name and what bank_conflicts.cuh says of it: turns, added up over the warp's four groups of eight lanes.
#include <cstdint>
#include <utility>

#include "bank_conflicts.cuh"
#include "expect.cuh"
#include "mma.cuh"

constexpr int kLanes = 32, kAtOnce = 8, kTileBytes = 64 << 10;
constexpr int kRowBytes = 128, kLongRowBytes = 256, kPaddedRowBytes = 128 + kPieceBytes;

struct Places {
  int of[kLanes];
};

__global__ void load(const __grid_constant__ Places places, uint4* out) {
  extern __shared__ __align__(128) uint8_t tile[];
  out[threadIdx.x] = *reinterpret_cast<const uint4*>(tile + places.of[threadIdx.x]);
}

__global__ void store(const __grid_constant__ Places places, uint4* out) {
  extern __shared__ __align__(128) uint8_t tile[];
  *reinterpret_cast<uint4*>(tile + places.of[threadIdx.x]) = out[threadIdx.x];
}

__global__ void matrices(const __grid_constant__ Places places, uint4* out) {
  extern __shared__ __align__(128) uint8_t tile[];
  uint32_t found[4];
  load_matrices(found, tile + places.of[threadIdx.x]);
  out[threadIdx.x] = {found[0], found[1], found[2], found[3]};
}

int turns(const Places& places) {
  int all = 0;
  for (int group = 0; group < kLanes; group += kAtOnce) {
    all += bank_conflict(kAtOnce, [&](int i) { return places.of[group + i]; });
  }
  return all;
}

using Kernel = void (*)(Places, uint4*);
void look(const char* name, Kernel kernel, const Places& places, uint4* out) {
  kernel<<<1, kLanes, kTileBytes>>>(places, out);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  std::printf("%s %d\n", name, turns(places));
}

// Rows of a fragment as mma.cuh's callers name them: lanes 0 to 15 one column of pieces, the others the next.
template <class PlaceOf>
Places fragment(PlaceOf place_of) {
  Places places;
  for (int lane = 0; lane < kLanes; ++lane) places.of[lane] = place_of(lane % 16, 6 + lane / 16);
  return places;
}

// No two lanes at the same place, which a bank would answer at once.
Places shuffled(uint32_t& state) {
  constexpr int kPlaces = 256;
  int order[kPlaces];
  for (int i = 0; i < kPlaces; ++i) order[i] = i * kPieceBytes;
  Places places;
  for (int i = 0; i < kLanes; ++i) {
    state = state * 1664525u + 1013904223u;
    std::swap(order[i], order[i + (state >> 8) % (kPlaces - i)]);
    places.of[i] = order[i];
  }
  return places;
}

constexpr int plain(int row, int piece) {
  return row * kRowBytes + piece * kPieceBytes;
}
constexpr int padded(int row, int piece) {
  return row * kPaddedRowBytes + piece * kPieceBytes;
}

template <int kBytes>
constexpr int swizzled(int row, int piece) {
  return row * kBytes + (piece ^ row % 8) * kPieceBytes;
}

struct PlainColumn {
  constexpr int operator()(int row) const { return plain(row, 3); }
};
struct SwizzledColumn {
  constexpr int operator()(int row) const { return swizzled<kRowBytes>(row, 3); }
};
static_assert(bank_conflict(kAtOnce, PlainColumn{}) == 8 && bank_conflict(kAtOnce, SwizzledColumn{}) == 1,
              "known before anything runs");

int main() {
  uint4* out = nullptr;
  EXPECT(cudaMalloc(&out, kLanes * sizeof *out) == cudaSuccess);
  EXPECT(cudaMemset(out, 0, kLanes * sizeof *out) == cudaSuccess);
  for (const Kernel kernel : {load, store, matrices}) {
    EXPECT(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kTileBytes) ==
           cudaSuccess);
  }
  const Places layouts[] = {fragment(plain), fragment(padded), fragment(swizzled<kRowBytes>),
                            fragment(swizzled<kLongRowBytes>)};
  for (const Places& places : layouts) {
    look("matrices", matrices, places, out);
    look("load", load, places, out);
    look("store", store, places, out);
  }
  uint32_t state = 1;
  for (int i = 0; i < 20; ++i) {
    const Places places = shuffled(state);
    look("matrices", matrices, places, out);
    look("load", load, places, out);
    look("store", store, places, out);
  }
  cudaFree(out);
}
