// Attention for Hopper, forward: softmax(scale * Q K^T) V.
//
// How memory flows: a block takes 64 query rows of one head for each of its consumer warpgroups. One producer
// thread asks for tiles: the queries once, then keys and values, tile after tile, into a ring of stages in
// shared memory. Barriers count the bytes that arrive (full) and the warps that no longer read a stage
// (empty). A consumer warpgroup multiplies queries with keys from shared memory into registers, turns scores
// into weights there, and multiplies the weights, from registers, with values from shared memory. While it
// computes weights, its own product with the values before and the products of the other warpgroups run.
// Blocks are persistent: a block takes tile after tile, and the producer is ahead of the consumers by as many
// stages as there are, also from one tile to the next.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "mbarrier.cuh"
#include "multiprocessors.cuh"
#include "tensor_copy.cuh"
#include "wgmma.cuh"

constexpr int kGroup = 128;     // threads of a warpgroup
constexpr int kGroupRows = 64;  // query rows of a warpgroup
constexpr int kRowBytes = 2 * kTileColumns;

// Where a tensor [batch][head][row][element] lies, in elements. Elements of a row are neighbours.
struct Strides {
  int64_t batch, head, row;
};

// ---- Step 1: a tile by the copy engine, and a barrier that counts its bytes -----------------------------
//
// The steps are in half precision with heads of 64: a row is 128 bytes, eight pieces of 16.

constexpr int kStepDim = 64, kStepRows = 64, kPieces = 8;

struct OneTensor {
  CUtensorMap tensor;
  void* out;
  int heads, length;
};

struct TileShared {
  alignas(1024) uint8_t tile[kStepRows * kRowBytes];
  Barrier full;
};

// A piece of the output, whose rows lie one behind the other.
__device__ inline uint4& out_piece(const OneTensor& job, int batch, int head, int row, int piece) {
  const int64_t place = static_cast<int64_t>(batch * job.heads + head) * job.length + row;
  return static_cast<uint4*>(job.out)[place * kPieces + piece];
}

// A block copies 64 rows of a head.
__global__ void __launch_bounds__(128) copy_kernel(const __grid_constant__ OneTensor job) {
  __shared__ TileShared shared;
  const int first_row = blockIdx.x * kStepRows, head = blockIdx.y, batch = blockIdx.z;
  if (threadIdx.x == 0) shared.full.init(1);
  // TODO 1: the thread that made the barrier ready asks for the tile; then all wait for it.
  // The copy engine must see the barrier before the copy, and all threads before they wait.
  // Who asks for bytes says how many: rows behind the tensor's end count, too. They arrive as zeros.
  for (int i = threadIdx.x; i < kStepRows * kPieces; i += 128) {
    const int row = i / kPieces, piece = i % kPieces;
    if (first_row + row >= job.length) break;
    // TODO 1: the row's out_piece(), from where the swizzle has put it.
    (void)head, (void)batch, (void)piece;
  }
}

// ---- Step 2: a ring of stages, one producer, four consumer warps ----------------------------------------

constexpr int kStepStages = 3;

struct RingShared {
  alignas(1024) uint8_t tiles[kStepStages][kStepRows * kRowBytes];
  Barrier full[kStepStages], empty[kStepStages];
  float parts[4][kStepDim];
};

// A block adds up all rows of a head. Its last warp brings tiles, the other four add.
__global__ void __launch_bounds__(160) sum_kernel(const __grid_constant__ OneTensor job) {
  __shared__ RingShared shared;
  const int head = blockIdx.x, batch = blockIdx.y, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int tiles = (job.length + kStepRows - 1) / kStepRows;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStepStages; ++stage) {
      shared.full[stage].init(1);
      shared.empty[stage].init(4);
    }
    fence_barriers();
  }
  __syncthreads();
  if (warp == 4) {
    for (int i = 0; i < tiles && lane == 0; ++i) {
      // TODO 2: wait until stage i % kStepStages is empty, then ask for tile i.
      // The first round over the ring must not wait: no consumer has arrived yet. Which parity is that?
    }
    return;
  }
  float2 sum{};  // of columns 2 lane and 2 lane + 1, in this warp's rows
  for (int i = 0; i < tiles; ++i) {
    // TODO 2: wait until tile i is full.
    for (int row = warp; row < kStepRows; row += 4) {
      // TODO 2: add two halves of the row to `sum`.
    }
    // TODO 2: tell the producer that this warp has read the stage: all of its lanes.
  }
  shared.parts[warp][2 * lane] = sum.x, shared.parts[warp][2 * lane + 1] = sum.y;
  meet(1, 128);
  if (threadIdx.x < kStepDim) {
    float total = 0;
    for (int i = 0; i < 4; ++i) total += shared.parts[i][threadIdx.x];
    static_cast<float*>(job.out)[(batch * job.heads + head) * kStepDim + threadIdx.x] = total;
  }
}

// ---- Attention ------------------------------------------------------------------------------------------

struct Attention {
  CUtensorMap queries, keys, values, out;
  int batch, heads, length;
  int sharers;  // heads of queries that share one of keys and values
  bool causal;
  float scale;  // of the scores, times log2(e): weights are powers of two
  bool paired;  // long and short tiles go together
};

__device__ inline float power_of_2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

__device__ inline uint32_t pack(float low, float high, __half) {
  const __half2 both = __floats2half2_rn(low, high);
  return reinterpret_cast<const uint32_t&>(both);
}
__device__ inline uint32_t pack(float low, float high, __nv_bfloat16) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<const uint32_t&>(both);
}

// How a block's work is cut, and whether products run while weights are computed.
template <int kHeadDim, int kWarpgroups, bool overlaps = true>
struct Cut {
  static constexpr int kDim = kHeadDim, kConsumers = kWarpgroups;
  static constexpr bool kOverlaps = overlaps;
  static constexpr int kRows = kGroupRows * kConsumers;
  static constexpr int kKeys = 128;  // of a tile
  static constexpr int kStages = kDim == 64 ? 3 : 2;
  static constexpr int kThreads = kGroup * (kConsumers + 1);
  // Registers of a thread, producers' and consumers': together what a multiprocessor has, 64 K.
  static constexpr int kProducerRegisters = kConsumers == 3 ? 32 : 24;
  static constexpr int kConsumerRegisters = kConsumers == 3 ? 160 : kConsumers == 2 ? 240 : 232;
  static constexpr int kBlocksPerSm = kConsumers == 1 ? 2 : 1;
};

// A block's shared memory. Each array begins at a multiple of 1,024 bytes, which the swizzle needs. Rows of
// 256 bytes are two tiles side by side.
template <class How>
struct Shared {
  static constexpr int kTiles = How::kDim / kTileColumns;
  uint8_t queries[kTiles][How::kRows * kRowBytes];
  uint8_t out[How::kConsumers][kTiles][kGroupRows * kRowBytes];
  uint8_t keys[How::kStages][kTiles][How::kKeys * kRowBytes];
  uint8_t values[How::kStages][kTiles][How::kKeys * kRowBytes];
  Barrier full_queries, empty_queries;
  Barrier full_keys[How::kStages], empty_keys[How::kStages];
  Barrier full_values[How::kStages], empty_values[How::kStages];
};

// A tile of query rows of one head.
struct Work {
  int head, key_head, batch, first_row, key_tiles;
};

// The tiles of a block, one after the other: those numbered blockIdx.x, blockIdx.x + gridDim.x, and so on.
// Under a causal mask later rows see more keys. There a number can stand for a pair, the n-th longest tile of
// a head and its n-th shortest: all pairs are as much work. Numbers go through a head's tiles before the next
// head's, so that blocks read the same keys and values at the same time.
template <class How>
struct Schedule {
  const Attention& job;
  int number = blockIdx.x;
  bool second = false;  // the short tile of a pair is next

  __device__ explicit Schedule(const Attention& job) : job(job) {}

  // False when there is no more.
  __device__ bool next(Work& work) {
    const int tiles = (job.length + How::kRows - 1) / How::kRows;
    // TODO 5: the head and the tile of `number`; then the pair's or the block's next one.
    // Where job.paired is set, a head has half as many numbers, and one more if its tiles are odd. Then
    // the tile in the middle has no other one.
    const int head = number / tiles, tile = number % tiles;
    number += gridDim.x;
    if (head >= job.batch * job.heads) return false;
    work.head = head % job.heads;
    work.key_head = work.head / job.sharers;
    work.batch = head / job.heads;
    work.first_row = tile * How::kRows;
    const int keys = job.causal ? min(job.length, work.first_row + How::kRows) : job.length;
    work.key_tiles = (keys + How::kKeys - 1) / How::kKeys;
    return true;
  }
};

// A place in the ring of stages, which goes on from tile to tile.
template <class How>
struct Ring {
  int stage = 0;
  uint32_t parity = 0;

  __device__ void advance() {
    if (++stage == How::kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

// ---- The producer: one thread ---------------------------------------------------------------------------

template <class How>
__device__ void produce(const Attention& job, Shared<How>& shared) {
  prefetch_map(job.queries);
  prefetch_map(job.keys);
  prefetch_map(job.values);
  Schedule<How> schedule(job);
  Ring<How> ring;
  uint32_t queries_parity = 1;  // the first wait is for nothing: the buffer is empty
  Work work;
  while (schedule.next(work)) {
    // TODO 3: the queries, then tile after tile of keys and values, each with its barriers.
    // ring.parity is that of `full`; consumers have emptied a stage one round earlier.
    (void)queries_parity, (void)ring;
  }
}

// ---- A consumer warpgroup -------------------------------------------------------------------------------

// Numbers of the barriers of a block's warpgroups, each meet()s or pass()es.
enum { kStoring = 1, kTurn = 4 };

template <typename T, class How>
struct Consumer {
  static constexpr int kDim = How::kDim, kKeys = How::kKeys;
  static constexpr int kTiles = Shared<How>::kTiles;

  const Attention& job;
  Shared<How>& shared;
  // The compiler cannot know that all lanes of a warp are in one warpgroup, but for a shuffle.
  const int group = __shfl_sync(~0u, threadIdx.x / kGroup, 0) - 1;
  const int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  const int g = lane / 4, t = lane % 4;
  Ring<How> of_keys, of_values;

  float out[kDim / 2];
  float scores[kKeys / 2];
  uint32_t weights[kKeys / 16][4];
  float most[2], sum[2];  // of rows g and g + 8: the highest score, and the sum of the weights relative to it

  __device__ Consumer(const Attention& job, Shared<How>& shared) : job(job), shared(shared) {}

  // All lanes of a warp have read, or the warp's products have: the producer may overwrite it.
  __device__ void release(Barrier& empty) const {
    __syncwarp();
    if (lane == 0) empty.arrive();
  }

  // Begins scores = queries times keys transposed.
  __device__ void multiply_keys() {
    // TODO 3: kDim / 16 products and a commit. The first one begins the scores anew.
    // A step is 32 bytes along a row. Descriptors count in units of 16 bytes. Behind 64 columns, the
    // next tile of shared.queries and shared.keys begins.
  }

  // Begins out += weights times values.
  __device__ void multiply_values() {
    // TODO 3: kKeys / 16 products and a commit. A step is 16 rows of values.
  }

  // Keys that a row does not see get no weight: those behind the end, and under a causal mask later ones.
  __device__ void hide(const Work& work, int key_tile) {
    const int first_key = key_tile * kKeys, first_row = work.first_row + group * kGroupRows;
    const bool all_seen =
        first_key + kKeys <= job.length && (!job.causal || first_key + kKeys <= first_row + 1);
    if (all_seen) return;
    const int row = first_row + 16 * warp + g;
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      // How many keys of this lane's columns, counted from its first one, the row sees.
      const int seen = (job.causal ? min(job.length, row + 8 * side + 1) : job.length) - first_key - 2 * t;
#pragma unroll
      for (int i = 0; i < kKeys / 8; ++i) {
        if (8 * i >= seen) scores[4 * i + 2 * side] = -INFINITY;
        if (8 * i + 1 >= seen) scores[4 * i + 2 * side + 1] = -INFINITY;
      }
    }
  }

  // Scores become weights, relative to the highest score so far; `factor` is what older weights change by.
  __device__ void weigh(float (&factor)[2]) {
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      float highest = most[side];
#pragma unroll
      for (int i = 0; i < kKeys / 8; ++i) {
        highest = fmaxf(highest, fmaxf(scores[4 * i + 2 * side], scores[4 * i + 2 * side + 1]));
      }
      highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, 1));
      highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, 2));
      const float origin = highest * job.scale;
      factor[side] = power_of_2(most[side] * job.scale - origin);
      most[side] = highest;
      float added = 0;
#pragma unroll
      for (int i = 0; i < kKeys / 8; ++i) {
#pragma unroll
        for (int j = 4 * i + 2 * side; j < 4 * i + 2 * side + 2; ++j) {
          scores[j] = power_of_2(fmaf(scores[j], job.scale, -origin));
          added += scores[j];
        }
      }
      sum[side] = sum[side] * factor[side] + added;
    }
  }

  // Two tiles of eight keys, packed, are one side of the product with 16 values as they are.
  __device__ void pack_weights() {
#pragma unroll
    for (int step = 0; step < kKeys / 16; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        weights[step][i] = pack(scores[8 * step + 2 * i], scores[8 * step + 2 * i + 1], T{});
      }
    }
  }

  __device__ void rescale(const float (&factor)[2]) {
#pragma unroll
    for (int i = 0; i < kDim / 2; ++i) out[i] *= factor[i / 2 % 2];
  }

  // Warpgroups begin their products in turn: while one multiplies, the others compute weights.
  __device__ void await_turn() const {
    // TODO 4: meet() the warpgroup before this one, at barrier kTurn + group.
  }
  __device__ void pass_turn() const {
    // TODO 4: pass() at the next warpgroup's barrier: this one does not wait there.
  }

  __device__ void await_keys() { shared.full_keys[of_keys.stage].wait(of_keys.parity); }
  __device__ void await_values() { shared.full_values[of_values.stage].wait(of_values.parity); }
  __device__ void release_keys() {
    release(shared.empty_keys[of_keys.stage]);
    of_keys.advance();
  }
  __device__ void release_values() {
    release(shared.empty_values[of_values.stage]);
    of_values.advance();
  }

  __device__ void begin_rows() {
#pragma unroll
    for (float& element : out) element = 0;
    most[0] = most[1] = -INFINITY;
    sum[0] = sum[1] = 0;
  }

  // One product after the other, each waited for.
  __device__ void attend_in_order(const Work& work) {
    for (int i = 0; i < work.key_tiles; ++i) {
      // TODO 3: scores, hide(), weigh(), rescale(), pack_weights(), then the values.
      // begin_products() comes before each product whose registers were changed.
    }
    release(shared.empty_queries);
  }

  // Scores of tile i are begun before the values of tile i - 1 are multiplied: their weights are computed
  // while the tensor cores work.
  __device__ void attend_overlapped(const Work& work) {
    // TODO 4: the first scores; then, for each further tile, scores and the values before.
    // Which of the two groups of products must be complete before weigh(), and which before rescale()?
    // Take turns around the two products of the loop. After it, the last tile's values are left.
    (void)work;
  }

  // The registers that multiply_values() works on.
  __device__ void hold_all() {
    hold(out);
#pragma unroll
    for (auto& step : weights) hold(step);
  }

  // Through shared memory, so that rows leave whole.
  __device__ void store(const Work& work) {
    const bool asks = threadIdx.x % kGroup == 0;
    if (asks) wait_until_stores_have_read();
    meet(kStoring + group, kGroup);
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      float total = sum[side];
      total += __shfl_xor_sync(~0u, total, 1);
      total += __shfl_xor_sync(~0u, total, 2);
      const float inverse = 1 / total;
      const int row = 16 * warp + g + 8 * side;
#pragma unroll
      for (int i = 0; i < kDim / 8; ++i) {
        const int piece = i % 8 ^ row % 8;
        *reinterpret_cast<uint32_t*>(shared.out[group][i / 8] + row * kRowBytes + piece * 16 + t * 4) =
            pack(out[4 * i + 2 * side] * inverse, out[4 * i + 2 * side + 1] * inverse, T{});
      }
    }
    // TODO 3: once all rows are in shared memory, and visible there, one thread stores them.
    // Of the last tile, a warpgroup may have no rows at all.
    (void)work, (void)asks;
  }

  __device__ void consume() {
    if (How::kOverlaps && group == How::kConsumers - 1) pass_turn();  // the first warpgroup begins
    Schedule<How> schedule(job);
    uint32_t queries_parity = 0;
    Work work;
    while (schedule.next(work)) {
      // TODO 3: wait for the queries.
      (void)queries_parity;
      begin_rows();
      if constexpr (How::kOverlaps) {
        attend_overlapped(work);
      } else {
        attend_in_order(work);
      }
      store(work);
    }
    if (How::kOverlaps && group == 0) await_turn();  // the last warpgroup passed its turn on
    wait_for_stores();
  }
};

template <typename T, class How>
__global__ void __launch_bounds__(How::kThreads, How::kBlocksPerSm)
    attention_kernel(const __grid_constant__ Attention job) {
  extern __shared__ __align__(1024) uint8_t bytes[];
  auto& shared = *reinterpret_cast<Shared<How>*>(bytes);
  if (threadIdx.x == 0) {
    constexpr int kWarps = 4 * How::kConsumers;
    shared.full_queries.init(1);
    shared.empty_queries.init(kWarps);
    for (int stage = 0; stage < How::kStages; ++stage) {
      shared.full_keys[stage].init(1);
      shared.full_values[stage].init(1);
      shared.empty_keys[stage].init(kWarps);
      shared.empty_values[stage].init(kWarps);
    }
    fence_barriers();
  }
  __syncthreads();
  if (threadIdx.x < kGroup) {
    keep_registers<How::kProducerRegisters>();
    if (threadIdx.x == 0) produce<How>(job, shared);
  } else {
    take_registers<How::kConsumerRegisters>();
    Consumer<T, How>(job, shared).consume();
  }
}

// ---- The launch -----------------------------------------------------------------------------------------

struct Tensors {
  const void *queries, *keys, *values, *out;
  const Strides* strides;
};

template <typename T, class How>
cudaError_t launch(Attention& job, const Tensors& tensors, bool persistent, cudaStream_t stream) {
  constexpr bool kBfloat16 = sizeof(T) == 2 && !std::is_same<T, __half>::value;
  const int key_heads = job.heads / job.sharers;
  const auto map = [&](CUtensorMap& to, const void* tensor, const Strides& strides, int heads, int rows) {
    const TensorShape shape{job.batch,     heads,        job.length, How::kDim,
                            strides.batch, strides.head, strides.row};
    return make_tensor_map(to, tensor, shape, rows, kBfloat16);
  };
  if (const cudaError_t e = map(job.queries, tensors.queries, tensors.strides[0], job.heads, How::kRows))
    return e;
  if (const cudaError_t e = map(job.keys, tensors.keys, tensors.strides[1], key_heads, How::kKeys)) return e;
  if (const cudaError_t e = map(job.values, tensors.values, tensors.strides[2], key_heads, How::kKeys))
    return e;
  if (const cudaError_t e = map(job.out, tensors.out, tensors.strides[3], job.heads, kGroupRows)) return e;
  const auto kernel = attention_kernel<T, How>;
  constexpr int kBytes = sizeof(Shared<How>);
  if (const cudaError_t e = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes))
    return e;
  const int tiles = (job.length + How::kRows - 1) / How::kRows * job.batch * job.heads;
  int blocks = tiles;
  // TODO 5: where `persistent` is set, no more blocks than run at once.
  // Pair tiles under a causal mask, unless each block takes one tile alone.
  (void)persistent;
  kernel<<<blocks, How::kThreads, kBytes, stream>>>(job);
  return cudaGetLastError();
}

// How many consumers a block has, as measured on an H200. Heads of 64 leave room for two blocks with one
// consumer each on a multiprocessor, which need not wait for each other at the ends of tiles; only over many
// keys for every row do three consumers that take turns gain more. Heads of 128 fill the registers and the
// shared memory with two, unless there are too few tiles for all multiprocessors.
template <typename T, int kDim>
cudaError_t launch(Attention& job, const Tensors& tensors, cudaStream_t stream) {
  if constexpr (kDim == 64) {
    constexpr int kManyKeys = 2048;
    const int tiles = (job.length + 3 * kGroupRows - 1) / (3 * kGroupRows) * job.batch * job.heads;
    const bool many_keys = job.length >= kManyKeys && !job.causal && tiles >= multiprocessors();
    return many_keys ? launch<T, Cut<64, 3>>(job, tensors, true, stream)
                     : launch<T, Cut<64, 1>>(job, tensors, true, stream);
  }
  const int tiles = (job.length + kGroupRows - 1) / kGroupRows * job.batch * job.heads;
  return tiles <= multiprocessors() ? launch<T, Cut<128, 1>>(job, tensors, true, stream)
                                    : launch<T, Cut<128, 2>>(job, tensors, true, stream);
}

// 16 bytes at a time, or not at all.
bool misaligned(const void* tensor, const Strides& strides) {
  return reinterpret_cast<uintptr_t>(tensor) % 16 != 0 ||
         (strides.batch | strides.head | strides.row) % 8 != 0;
}

// A call's arguments as a job. Without rows it is cudaSuccess with an empty batch.
cudaError_t make_job(Attention& job, const Tensors& tensors, int batch, int heads, int key_heads, int length,
                     float scale, int causal) {
  if (batch < 0 || heads < 0 || length < 0) return cudaErrorInvalidValue;
  if (heads > 0 && (key_heads < 1 || heads % key_heads != 0)) return cudaErrorInvalidValue;
  const void* all[] = {tensors.queries, tensors.keys, tensors.values, tensors.out};
  for (int i = 0; i < 4; ++i) {
    if (misaligned(all[i], tensors.strides[i])) return cudaErrorMisalignedAddress;
  }
  job.batch = batch, job.heads = heads, job.length = length, job.causal = causal != 0;
  job.sharers = heads > 0 ? heads / key_heads : 1;
  job.scale = scale * static_cast<float>(M_LOG2E);
  return cudaSuccess;
}

// Steps 1 and 2: one tensor, half precision, heads of 64.
using StepKernel = void (*)(OneTensor);
cudaError_t launch_step(StepKernel kernel, dim3 blocks, int threads, const void* tensor, void* out,
                        const Strides& strides, int batch, int heads, int length, cudaStream_t stream) {
  if (misaligned(tensor, strides)) return cudaErrorMisalignedAddress;
  OneTensor job{{}, out, heads, length};
  const TensorShape shape{batch, heads, length, kStepDim, strides.batch, strides.head, strides.row};
  if (const cudaError_t e = make_tensor_map(job.tensor, tensor, shape, kStepRows, false)) return e;
  kernel<<<blocks, threads, 0, stream>>>(job);
  return cudaGetLastError();
}

// out is [batch][head][length][64], one row behind the other.
extern "C" int copy_tiles(const void* tensor, void* out, const Strides* strides, int batch, int heads,
                          int length, cudaStream_t stream) {
  const dim3 blocks((length + kStepRows - 1) / kStepRows, heads, batch);
  return launch_step(copy_kernel, blocks, 128, tensor, out, *strides, batch, heads, length, stream);
}

// out is [batch][head][64] floats: the sum of all rows.
extern "C" int sum_tiles(const void* tensor, float* out, const Strides* strides, int batch, int heads,
                         int length, cudaStream_t stream) {
  const dim3 blocks(heads, batch);
  return launch_step(sum_kernel, blocks, 160, tensor, out, *strides, batch, heads, length, stream);
}

// Steps 3 and 4: attention in half precision with heads of 64, one block for each tile of rows.
#define STEP(name, cut)                                                                                     \
  extern "C" int name(const void* queries, const void* keys, const void* values, void* out,                 \
                      const Strides* strides, int batch, int heads, int length, float scale, int causal,    \
                      cudaStream_t stream) {                                                                \
    const Tensors tensors{queries, keys, values, out, strides};                                             \
    Attention job{};                                                                                        \
    if (const cudaError_t e = make_job(job, tensors, batch, heads, heads, length, scale, causal)) return e; \
    const bool nothing = batch == 0 || heads == 0 || length == 0;                                           \
    return nothing ? cudaSuccess : launch<__half, cut>(job, tensors, false, stream);                        \
  }
using InOrder = Cut<kStepDim, 1, false>;
using Overlapped = Cut<kStepDim, 2>;
STEP(attend_in_order, InOrder)
STEP(attend_overlapped, Overlapped)

// All tensors are [batch][head][length][head_dim] by their strides, in elements. Heads of queries that follow
// one another share a head of keys and values, where there are fewer of those.
extern "C" int hopper_attention(const void* queries, const void* keys, const void* values, void* out,
                                const Strides* strides, int batch, int heads, int key_heads, int length,
                                int head_dim, float scale, int causal, int bfloat16, cudaStream_t stream) {
  if (head_dim != 64 && head_dim != 128) return cudaErrorInvalidValue;
  const Tensors tensors{queries, keys, values, out, strides};
  Attention job{};
  if (const cudaError_t e = make_job(job, tensors, batch, heads, key_heads, length, scale, causal)) return e;
  if (batch == 0 || heads == 0 || length == 0) return cudaSuccess;
  if (head_dim == 64)
    return bfloat16 ? launch<__nv_bfloat16, 64>(job, tensors, stream)
                    : launch<__half, 64>(job, tensors, stream);
  return bfloat16 ? launch<__nv_bfloat16, 128>(job, tensors, stream)
                  : launch<__half, 128>(job, tensors, stream);
}
