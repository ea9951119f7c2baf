// Tensor maps that change while a kernel runs, with release and acquire: one after the other in a persistent
// block, in place in device memory, for another warp and for another block, for loads and for stores.
#include "maps.cuh"

using namespace hopper;

constexpr int kRows = 8, kColumns = 32, kMatrices = 4, kSize = kRows * kColumns, kThreads = 128;

__device__ void start(uint64_t* barrier) {
  if (threadIdx.x == 0) {
    barrier_init(barrier, 1);
    fence_barrier_init();
  }
  __syncthreads();
}
__device__ void bring(int* tile, const CUtensorMap* map, uint64_t* full) {
  arrive_expect(full, kSize * 4);
  load_box_2d(tile, map, 0, 0, full);
}
__device__ void put(const int* tile, int* out) {
  for (int k = threadIdx.x; k < kSize; k += kThreads) out[k] = tile[k];
}

// As in CUTLASS's grouped products: the warp that copies keeps a map in shared memory, changes it for each
// matrix, publishes and acquires it as a whole; one of its threads copies.
__global__ void grouped(const __grid_constant__ CUtensorMap pattern, int* const* matrices, CUtensorMap* maps,
                        int* out) {
  __shared__ __align__(128) CUtensorMap made;
  __shared__ __align__(128) int tile[kSize];
  __shared__ uint64_t full;
  CUtensorMap* const map = maps + blockIdx.x;
  if (threadIdx.x == 0) made = pattern;
  start(&full);
  int round = 0;
  for (int m = blockIdx.x; m < kMatrices; m += gridDim.x, ++round) {
    if (threadIdx.x < 32) {
      if (threadIdx.x == 0) replace_address_in_shared(&made, matrices[m]);
      __syncwarp();
      publish_map(map, &made);
      acquire_map(map);
      if (threadIdx.x == 5) bring(tile, map, &full);
      __syncwarp();
    }
    wait(&full, round & 1);
    put(tile, out + m * kSize);
    __syncthreads();
  }
}

// In device memory: one warp changes and releases, another one acquires and copies.
__global__ void in_place(const __grid_constant__ CUtensorMap pattern, int* const* matrices, CUtensorMap* map,
                         int* out) {
  __shared__ __align__(128) int tile[kSize];
  __shared__ uint64_t full;
  start(&full);
  for (int m = 0; m < kMatrices; ++m) {
    if (threadIdx.x == 0) {
      if (m == 0) *map = pattern;
      replace_address(map, matrices[m]);
      release_maps();
    }
    __syncthreads();
    if (threadIdx.x == 64) {
      acquire_map(map);
      bring(tile, map, &full);
    }
    wait(&full, m & 1);
    put(tile, out + m * kSize);
    __syncthreads();
  }
}

// One block makes all maps, one for each other block, and raises a flag.
__global__ void for_other_blocks(const __grid_constant__ CUtensorMap pattern, int* const* matrices,
                                 CUtensorMap* maps, unsigned* flag, int* out) {
  __shared__ __align__(128) int tile[kSize];
  __shared__ uint64_t full;
  start(&full);
  if (blockIdx.x == 0) {
    if (threadIdx.x < kMatrices) {
      maps[threadIdx.x] = pattern;
      replace_address(&maps[threadIdx.x], matrices[threadIdx.x]);
      release_maps();
    }
    __syncthreads();
    __threadfence();
    if (threadIdx.x == 0) atomicExch(flag, 1u);
    return;
  }
  const int m = blockIdx.x - 1;
  if (threadIdx.x == 0) {
    while (atomicAdd(flag, 0u) == 0) {
    }
    __threadfence();
    acquire_map(&maps[m]);
    bring(tile, &maps[m], &full);
  }
  __syncthreads();
  wait(&full, 0);
  put(tile, out + m * kSize);
}

// Tensor stores by a map that changes; the map of the loads stays.
__global__ void stored(const __grid_constant__ CUtensorMap source,
                       const __grid_constant__ CUtensorMap pattern, CUtensorMap* map, int* out) {
  __shared__ __align__(128) CUtensorMap made;
  __shared__ __align__(128) int tile[kSize];
  __shared__ uint64_t full;
  if (threadIdx.x == 0) made = pattern;
  start(&full);
  for (int m = 0; m < kMatrices; ++m) {
    if (threadIdx.x == 0) {
      arrive_expect(&full, kSize * 4);
      load_box_2d(tile, &source, 0, m * kRows, &full);
    }
    wait(&full, m & 1);
    __syncthreads();
    if (threadIdx.x < 32) {
      if (threadIdx.x == 0) replace_address_in_shared(&made, out + m * kSize);
      __syncwarp();
      publish_map(map, &made);
      if (threadIdx.x == 0) {
        acquire_map(map);
        store_box_2d(map, tile, 0, 0);
        commit();
        wait_reads();
      }
      __syncwarp();
    }
    __syncthreads();
  }
}

int main() {
  Report report("maps_changed");
  Random random(135);
  std::vector<int> values(kMatrices * kSize);
  for (int& value : values) value = random.below(10000);
  DeviceBuffer<int> in(values), out(values.size()), other(kSize);
  std::vector<int*> addresses;
  for (int m = 0; m < kMatrices; ++m) addresses.push_back(in.get() + m * kSize);
  DeviceBuffer<int*> matrices(addresses);
  DeviceBuffer<CUtensorMap> maps(kMatrices);
  DeviceBuffer<unsigned> flag(std::vector<unsigned>(1, 0));
  auto map_of = [](int* base, int rows) {
    return tensor_map(CU_TENSOR_MAP_DATA_TYPE_INT32, base, {kColumns, static_cast<cuuint64_t>(rows)},
                      {kColumns * 4}, {kColumns, kRows});
  };
  const CUtensorMap pattern = map_of(other.get(), kRows);
  auto expect = [&](const char* what) {
    LAUNCHED_OK();
    report.equal(what, out.download(), values);
    out.fill_bytes(0);
  };
  grouped<<<2, kThreads>>>(pattern, matrices.get(), maps.get(), out.get());
  expect("grouped");
  in_place<<<1, kThreads>>>(pattern, matrices.get(), maps.get(), out.get());
  expect("in place");
  for_other_blocks<<<1 + kMatrices, kThreads>>>(pattern, matrices.get(), maps.get(), flag.get(), out.get());
  expect("for other blocks");
  stored<<<1, kThreads>>>(map_of(in.get(), kMatrices * kRows), pattern, maps.get(), out.get());
  expect("stored");
  return report.finish();
}
