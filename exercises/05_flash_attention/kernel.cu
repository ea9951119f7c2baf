// FlashAttention, forward: softmax(scale * Q K^T) V for tiles of query rows, keys streamed through shared
// memory.
//
// How memory flows: a block takes a tile of query rows of one head. The tile's queries go through shared
// memory into registers once. Tiles of keys and values arrive by asynchronous copies, one or two tiles ahead
// of the one in use. Scores come out of the tensor cores into registers, become weights there, and go back
// into the tensor cores from there: they are never in shared memory. Neither is the output before it is
// finished. Blocks are persistent: as many as the GPU holds at once, each taking tile after tile.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "bank_conflicts.cuh"
#include "cp_async.cuh"
#include "mma.cuh"
#include "multiprocessors.cuh"

namespace wmma = nvcuda::wmma;

// What a tuner may change.
#ifndef BLOCK_M
#define BLOCK_M 64
#endif
#ifndef BLOCK_N
#define BLOCK_N 32
#endif
#ifndef WARPS
#define WARPS 4
#endif
#ifndef STAGES
#define STAGES 2
#endif
#ifndef PERSISTENT
#define PERSISTENT 1
#endif
#ifndef BLOCKS_PER_SM
#define BLOCKS_PER_SM 5
#endif

// With FLASH_DEBUG, flash_attention_debug() shows what else only registers hold.
#ifndef FLASH_DEBUG
#define FLASH_DEBUG 0
#endif

constexpr int kWarps = WARPS, kThreads = 32 * kWarps;

// How a block's work is cut.
template <int kDim>
struct Cut {
  static constexpr int kRows = BLOCK_M, kKeys = BLOCK_N, kStages = STAGES, kBlocksPerSm = BLOCKS_PER_SM;
};
template <>
struct Cut<128> {
  static constexpr int kRows = 16 * kWarps, kKeys = 32, kStages = 2, kBlocksPerSm = 2;
};

// How tiles of keys and values arrive: each level adds one idea.
template <bool async, bool ahead, bool swizzle>
struct Level {
  static constexpr bool kAsync = async, kAhead = ahead, kSwizzle = swizzle;
};
using InRegisters = Level<false, false, false>;
using Asynchronous = Level<true, false, false>;
using Ahead = Level<true, true, false>;
using Swizzled = Level<true, true, true>;

// Where a tensor [batch][head][row][element] lies, in elements. Elements of a row are neighbours.
struct Strides {
  int64_t batch, head, row;
};

struct Attention {
  const void *queries, *keys, *values;
  void* out;
  Strides of_queries, of_keys, of_values, of_out;
  int batch, heads, length;
  float scale;  // of the scores, times log2(e): weights are powers of two
#if FLASH_DEBUG
  float *scores, *weights;  // [batch][head][row][key]: hidden ones are -infinity; weights as of their tile
#endif
};

__device__ inline float power_of_2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// ---- Step 1: online softmax ------------------------------------------------------------------------------
//
// A warp takes a row, lane i has elements i and i + 32 of it. For every key: its score, and what it
// changes.

constexpr int kStepDim = 64;  // of the steps, which are in half precision

// The state of a row after the keys so far.
struct Running {
  float most = -INFINITY;  // the highest score
  float sum = 0;           // of the weights, relative to it
  float out[2] = {};       // two elements of the output, not divided by the sum yet
};

__global__ void __launch_bounds__(128) scalar_kernel(const __grid_constant__ Attention job, bool causal) {
  const int lane = threadIdx.x % 32, row = blockIdx.x * 4 + threadIdx.x / 32;
  if (row >= job.length) return;
  const auto start = [&](const void* tensor, const Strides& strides) {
    return static_cast<const __half*>(tensor) + blockIdx.z * strides.batch + blockIdx.y * strides.head;
  };
  const __half* query = start(job.queries, job.of_queries) + row * job.of_queries.row;
  const float q0 = __half2float(query[lane]), q1 = __half2float(query[lane + 32]);
  Running now;
  const int keys = causal ? row + 1 : job.length;
  for (int i = 0; i < keys; ++i) {
    const __half* key = start(job.keys, job.of_keys) + i * job.of_keys.row;
    const __half* value = start(job.values, job.of_values) + i * job.of_values.row;
    // TODO 1: the score of this key, and what it changes in `now`.
    // A score is the sum of all lanes' products, times job.scale: then weights are powers of two.
    (void)key, (void)value, (void)q0, (void)q1;
  }
  __half* out = const_cast<__half*>(start(job.out, job.of_out)) + row * job.of_out.row;
  out[lane] = __float2half_rn(now.out[0] / now.sum);
  out[lane + 32] = __float2half_rn(now.out[1] / now.sum);
}

// ---- Step 2: tensor cores, and scores in shared memory ---------------------------------------------------
//
// A warp takes 16 rows and 16 keys at a time, as WMMA fragments. Their layout is not defined, so scores and
// outputs go through shared memory, where rows can be addressed.

struct WarpShared {
  alignas(32) float scores[16][16];
  alignas(32) __half weights[16][16];
  alignas(32) float out[16][kStepDim];
  alignas(32) __half rows[16][kStepDim];  // queries first, then keys, then values
};

// 16 rows of a tensor; rows past the end are zeros.
__device__ void load_sixteen(WarpShared& shared, const __half* from, int64_t row_stride, int first,
                             int length) {
  const int lane = threadIdx.x % 32;
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = 4 * i + lane / 8, element = lane % 8 * 8;
    uint4 piece{};
    if (first + row < length)
      piece = *reinterpret_cast<const uint4*>(from + (first + row) * row_stride + element);
    *reinterpret_cast<uint4*>(&shared.rows[row][element]) = piece;
  }
  __syncwarp();
}

__global__ void __launch_bounds__(128) wmma_kernel(const __grid_constant__ Attention job, bool causal) {
  __shared__ WarpShared of_warps[4];
  WarpShared& shared = of_warps[threadIdx.x / 32];
  const int lane = threadIdx.x % 32, row = lane / 2, side = lane % 2;  // two lanes share a row
  const int first = (blockIdx.x * 4 + threadIdx.x / 32) * 16;
  if (first >= job.length) return;
  const auto start = [&](const void* tensor, const Strides& strides) {
    return static_cast<const __half*>(tensor) + blockIdx.z * strides.batch + blockIdx.y * strides.head;
  };
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> queries[kStepDim / 16];
  load_sixteen(shared, start(job.queries, job.of_queries), job.of_queries.row, first, job.length);
  for (int i = 0; i < kStepDim / 16; ++i)
    wmma::load_matrix_sync(queries[i], &shared.rows[0][16 * i], kStepDim);
  for (int d = side; d < kStepDim; d += 2) shared.out[row][d] = 0;
  float most = -INFINITY, sum = 0;
  const int end = causal ? min(job.length, first + 16) : job.length;
  for (int first_key = 0; first_key < end; first_key += 16) {
    load_sixteen(shared, start(job.keys, job.of_keys), job.of_keys.row, first_key, job.length);
    // TODO 2: the scores of 16 rows and 16 keys, to shared.scores.
    // Keys are rows in memory: as the second matrix of a product they are col_major.
    load_sixteen(shared, start(job.values, job.of_values), job.of_values.row, first_key, job.length);
    float mine[8], highest = most;
    for (int i = 0; i < 8; ++i) {
      const int key = first_key + 2 * i + side;
      const bool hidden = key >= job.length || (causal && key > first + row);
      mine[i] = hidden ? -INFINITY : shared.scores[row][2 * i + side] * job.scale;
      highest = fmaxf(highest, mine[i]);
    }
    highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, 1));
    const float factor = power_of_2(most - highest);
    most = highest;
    sum *= factor;
    for (int i = 0; i < 8; ++i) {
      const float weight = power_of_2(mine[i] - most);
      sum += weight;
      shared.weights[row][2 * i + side] = __float2half_rn(weight);
    }
    for (int d = side; d < kStepDim; d += 2) shared.out[row][d] *= factor;
    __syncwarp();
    // TODO 2: weights times values, added to shared.out.
    __syncwarp();
  }
  sum += __shfl_xor_sync(~0u, sum, 1);
  if (first + row >= job.length) return;
  __half* out = const_cast<__half*>(start(job.out, job.of_out)) + (first + row) * job.of_out.row;
  for (int d = side; d < kStepDim; d += 2) out[d] = __float2half_rn(shared.out[row][d] / sum);
}

// ---- Steps 3 to 6, and the whole: scores in registers ----------------------------------------------------

__device__ inline uint32_t pack(float low, float high, __half) {
  const __half2 both = __floats2half2_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&both);
}
__device__ inline uint32_t pack(float low, float high, __nv_bfloat16) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&both);
}
__device__ inline void multiply(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, __half) {
  mma_f16(c, a, b0, b1);
}
__device__ inline void multiply(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                                __nv_bfloat16) {
  mma_bf16(c, a, b0, b1);
}

// Rows of a tile in shared memory, and where a piece of 16 bytes lies.
template <int kDim, bool kSwizzle>
struct Rows {
  static constexpr int kBytes = 2 * kDim, kPieces = kDim / 8;
  __host__ __device__ static constexpr int place(int row, int piece) {
    // TODO 6: if kSwizzle is set, an order of the pieces of a row without bank conflicts.
    // ldmatrix reads the same piece of eight rows at once, from row 0, 8, 16, … on. Give these eight
    // places in all 32 banks once. No two pieces of a row may have the same place.
    return row * kBytes + piece * kPieceBytes;
  }
};

// How many wavefronts reading piece `piece` of eight rows takes: 1 without conflicts.
template <class Rows>
constexpr int wavefronts(int piece) {
  return bank_conflict(8, [=](int row) { return Rows::place(row, piece); });
}
static_assert(wavefronts<Rows<64, false>>(3) == 8, "a row of 128 bytes is all banks once");
// TODO 6: let the compiler check your order, for rows of 64 and of 128 halves.

template <int kDim, bool kAhead>
struct Tiles : Cut<kDim> {
  using Cut<kDim>::kRows, Cut<kDim>::kKeys;
  static constexpr int kRowBytes = 2 * kDim;
  static constexpr int kBytes = kKeys * kRowBytes;  // of a tile of keys, or of values
  static constexpr int kStageBytes = 2 * kBytes, kStages = kAhead ? Cut<kDim>::kStages : 1;
  static constexpr int kQueryBytes = kRows * kRowBytes;  // lie where keys will
  static constexpr int kSharedBytes = std::max(kStages * kStageBytes, kQueryBytes);
  static constexpr int kWarpRows = kRows / kWarps;
  static constexpr int kSixteens = kWarpRows / 16;  // of rows, that a warp multiplies at once
  static_assert(kRows % kWarps == 0 && kWarpRows % 16 == 0, "a warp's rows come in sixteens");
  static_assert(kKeys % 16 == 0 && (!kAhead || kStages >= 2));
};

// A block's work on one tile of queries.
template <typename T, int kDim, bool kCausal, class How>
struct Tile {
  using Sizes = Tiles<kDim, How::kAhead>;
  using Row = Rows<kDim, How::kSwizzle>;
  static constexpr int kRows = Sizes::kRows, kKeys = Sizes::kKeys, kStages = Sizes::kStages;
  static constexpr int kWarpRows = Sizes::kWarpRows, kSixteens = Sizes::kSixteens;
  static constexpr int kPieces = Row::kPieces, kSteps = kDim / 16, kKeyTiles = kKeys / 8;

  const Attention& job;
  uint8_t* shared;
  const int64_t head;  // which of all sequences' heads
  const int first_row;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const T *keys, *values;  // where this thread's next copies come from

  uint32_t queries[kSixteens][kSteps][4];
  float out[kSixteens][kDim / 8][4] = {};
  float most[kSixteens][2], sum[kSixteens][2] = {};  // of rows g and g + 8

  __device__ Tile(const Attention& job, uint8_t* shared, int head, int first_row)
      : job(job), shared(shared), head(head), first_row(first_row) {
    keys = place(job.keys, job.of_keys, 0);
    values = place(job.values, job.of_values, 0);
#pragma unroll
    for (auto& rows : most) rows[0] = rows[1] = -INFINITY;
  }

  // Threads copy pieces of 16 bytes, row by row; all of a thread's pieces are in one column.
  static constexpr int kRowsAtOnce = kThreads / kPieces;
  static_assert(kThreads % kPieces == 0 && kKeys % kRowsAtOnce == 0 && kRows % kRowsAtOnce == 0);

  // This thread's first piece from row `first` on.
  __device__ const T* place(const void* tensor, const Strides& strides, int first) const {
    const int64_t row = first + static_cast<int>(threadIdx.x) / kPieces;
    return static_cast<const T*>(tensor) + head / job.heads * strides.batch +
           head % job.heads * strides.head + row * strides.row + threadIdx.x % kPieces * 8;
  }

  // Begins to copy rows of which `left` are there; the others become zeros.
  template <int kCount>
  __device__ void copy_rows(uint8_t* to, const T* from, int64_t row_stride, int left) const {
    const int first = threadIdx.x / kPieces;
    to += Row::place(first, threadIdx.x % kPieces);
#pragma unroll
    for (int i = 0; i < kCount / kRowsAtOnce; ++i) {
      static_assert(kRowsAtOnce % 8 == 0, "a piece keeps its place from one row of a thread to the next");
      uint8_t* place = to + i * kRowsAtOnce * Sizes::kRowBytes;
      const bool there = first + i * kRowsAtOnce < left;
      // TODO 4: if How::kAsync is set, begin an asynchronous copy of 16 bytes instead.
      // A row that is not there becomes zeros, and nothing is read from its address: cp_async.cuh.
      *reinterpret_cast<uint4*>(place) = there ? *reinterpret_cast<const uint4*>(from) : uint4{};
      from += kRowsAtOnce * row_stride;
    }
  }

  __device__ uint8_t* stage(int number) const { return shared + number % kStages * Sizes::kStageBytes; }

  // Begins to copy the next tile of keys and values. Every call makes one group of copies.
  __device__ void fetch(int number, int tiles) {
    if (number < tiles) {
      const int left = job.length - number * kKeys;
      copy_rows<kKeys>(stage(number), keys, job.of_keys.row, left);
      copy_rows<kKeys>(stage(number) + Sizes::kBytes, values, job.of_values.row, left);
      keys += kKeys * job.of_keys.row;
      values += kKeys * job.of_values.row;
    }
    // TODO 4: make a group of the copies that this call has begun.
  }

  __device__ void load_queries() {
    copy_rows<kRows>(shared, place(job.queries, job.of_queries, first_row), job.of_queries.row,
                     job.length - first_row);
    // TODO 4: the queries are asynchronous copies too: which two calls belong here?
    __syncthreads();
#pragma unroll
    for (int sixteen = 0; sixteen < kSixteens; ++sixteen) {
      const int row = warp * kWarpRows + 16 * sixteen + lane % 16;
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        load_matrices(queries[sixteen][step], shared + Row::place(row, 2 * step + lane / 16));
      }
    }
    __syncthreads();  // keys will lie there
  }

  using Scores = float[kSixteens][kKeyTiles][4];

  __device__ void multiply_keys(const uint8_t* keys, Scores& scores) const {
    // TODO 3: scores[sixteen][tile] += queries times keys, for rows of 16 and keys of 8.
    // load_matrices() of rows of keys makes the other side of a product: matrices of keys 0 to 7 and of
    // keys 8 to 15, each of the elements 16 step and 16 step + 8, are b[0], b[1] and b[2], b[3].
    // README.md has pictures of the fragments.
    (void)keys, (void)scores;
  }

  // Keys past the end, and those after the query where that is forbidden.
  __device__ void hide(Scores& scores, int first_key) const {
#pragma unroll
    for (int sixteen = 0; sixteen < kSixteens; ++sixteen) {
#pragma unroll
      for (int tile = 0; tile < kKeyTiles; ++tile) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int row = first_row + warp * kWarpRows + 16 * sixteen + g + i / 2 * 8;
          const int key = first_key + 8 * tile + 2 * t + i % 2;
          if (key >= job.length || (kCausal && key > row)) scores[sixteen][tile][i] = -INFINITY;
        }
      }
    }
  }

  // Scores become weights, relative to the highest score so far; what was summed up before follows.
  __device__ void weigh(Scores& scores) {
    // TODO 3: as in step 1, for rows g and g + 8 of every sixteen, shared by four lanes.
    // scores[sixteen][tile][2 * side] and the next are of row g + 8 side, and so are most, sum and out.
    // The four lanes must agree on the highest score; their sums are added up at the end.
    (void)scores;
  }

  __device__ void multiply_values(const uint8_t* values, const Scores& weights) {
    // TODO 3: out[sixteen][tile] += weights times values, 16 keys at a time.
    // The weights of two tiles of keys, packed, are the first side of a product as they are: rows
    // g and g + 8 of the first tile, then of the second. load_matrices_transposed() makes the other
    // side.
    (void)values, (void)weights;
  }

  __device__ void run() {
    load_queries();
    const int end = kCausal ? min(job.length, first_row + kRows) : job.length;
    const int tiles = (end + kKeys - 1) / kKeys;
    if constexpr (How::kAhead) {
      // TODO 5: begin to fetch kStages - 1 tiles. Then, for each tile: wait until it is
      // there, make it visible to all threads, begin to fetch the next into the free stage, attend.
    } else {
      for (int i = 0; i < tiles; ++i) {
        fetch(i, tiles);
        // TODO 4: wait for this thread's copies. The barrier then covers all threads'.
        __syncthreads();
        attend(i);
        __syncthreads();
      }
    }
    wait_for_copies<0>();
    __syncthreads();  // the output goes where the tiles were
    store();
  }

  // One tile of keys and values.
  __device__ void attend(int number) {
    Scores scores = {};
    multiply_keys(stage(number), scores);
    const int first_key = number * kKeys;
    if (first_key + kKeys > job.length || (kCausal && first_key + kKeys > first_row + warp * kWarpRows)) {
      hide(scores, first_key);
    }
#if FLASH_DEBUG
    show(scores, job.scores, first_key);
#endif
    weigh(scores);
#if FLASH_DEBUG
    show(scores, job.weights, first_key);
#endif
    multiply_values(stage(number) + Sizes::kBytes, scores);
  }

#if FLASH_DEBUG
  static constexpr int kDebugBytes = kWarps * 16 * kKeys * int{sizeof(float)};  // behind the stages

  // A tile of scores or weights, through shared memory to the caller.
  __device__ void show(const Scores& tile, float* to, int first_key) const {
    auto* mine = reinterpret_cast<float*>(shared + Sizes::kSharedBytes) + warp * 16 * kKeys;
    for (int sixteen = 0; sixteen < kSixteens; ++sixteen) {
      __syncwarp();
      for (int i = 0; i < 4 * kKeyTiles; ++i) {
        mine[(g + i % 4 / 2 * 8) * kKeys + i / 4 * 8 + 2 * t + i % 2] = tile[sixteen][i / 4][i % 4];
      }
      __syncwarp();
      for (int i = lane; i < 16 * kKeys; i += 32) {
        const int row = first_row + warp * kWarpRows + 16 * sixteen + i / kKeys, key = first_key + i % kKeys;
        if (row < job.length && key < job.length) to[(head * job.length + row) * job.length + key] = mine[i];
      }
    }
  }
#else
  static constexpr int kDebugBytes = 0;
#endif

  // A warp's rows, through shared memory, so that they leave 16 bytes at a time.
  __device__ void store() {
    uint8_t* mine = shared + warp * kWarpRows * Sizes::kRowBytes;
#pragma unroll
    for (int sixteen = 0; sixteen < kSixteens; ++sixteen) {
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        float total = sum[sixteen][side];
        total += __shfl_xor_sync(~0u, total, 1);
        total += __shfl_xor_sync(~0u, total, 2);
        const float inverse = 1 / total;
        const int row = 16 * sixteen + g + 8 * side;
#pragma unroll
        for (int tile = 0; tile < kDim / 8; ++tile) {
          const auto& from = out[sixteen][tile];
          *reinterpret_cast<uint32_t*>(mine + Row::place(row, tile) + 4 * t) =
              pack(from[2 * side] * inverse, from[2 * side + 1] * inverse, T{});
        }
      }
    }
    __syncwarp();
    T* to =
        static_cast<T*>(job.out) + head / job.heads * job.of_out.batch + head % job.heads * job.of_out.head;
    constexpr int kEach = kWarpRows * kPieces / 32;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int number = lane + 32 * i, row = number / kPieces, piece = number % kPieces;
      const int64_t place = first_row + warp * kWarpRows + row;
      if (place < job.length) {
        *reinterpret_cast<uint4*>(to + place * job.of_out.row + 8 * piece) =
            *reinterpret_cast<const uint4*>(mine + Row::place(row, piece));
      }
    }
  }
};

// As many as registers allow. The whole kernel fits; steps need some more.
template <int kDim, class How>
constexpr int blocks_per_sm() {
  return How::kSwizzle ? Cut<kDim>::kBlocksPerSm : std::min(4, Cut<kDim>::kBlocksPerSm);
}

struct Place {
  int head, tile;
};

// The i-th of all tiles, where later rows see more keys. A head's n-th longest tile and its n-th shortest are
// a pair, and all pairs are as much work: in one round all blocks take the long tiles of pairs, in the next
// the short ones of the same. Where fewer pairs than blocks are left, blocks without a long tile take short
// ones, of the last pairs. A head's middle tile belongs to no pair; those come last.
__device__ inline Place in_pairs(uint32_t i, uint32_t tiles, uint32_t all) {
  const auto place = [](uint32_t head, uint32_t tile) {
    return Place{static_cast<int>(head), static_cast<int>(tile)};
  };
  const uint32_t of_head = tiles / 2, pairs = all / tiles * of_head, blocks = gridDim.x;
  if (i >= 2 * pairs) return place(i - 2 * pairs, of_head);
  const uint32_t first = i / (2 * blocks) * blocks, here = min(blocks, pairs - first);
  const uint32_t nth = i - 2 * first;
  const uint32_t pair = first + (nth < here ? nth : nth < blocks ? 2 * here - 1 - nth : nth - blocks);
  const uint32_t n = pair % of_head;
  return place(pair / of_head, nth < here ? tiles - 1 - n : n);
}

template <typename T, int kDim, bool kCausal, class How>
__global__ void __launch_bounds__(kThreads, blocks_per_sm<kDim, How>())
    flash_kernel(const __grid_constant__ Attention job) {
  extern __shared__ __align__(128) uint8_t shared[];
  constexpr int kRows = Cut<kDim>::kRows;
  const int tiles = (job.length + kRows - 1) / kRows;
  const int all = tiles * job.heads * job.batch;
  // TODO 7: a block takes every gridDim.x-th tile.
  const int i = blockIdx.x;
  if (i < all) {
    const auto [head, tile] = kCausal ? in_pairs(i, tiles, all) : Place{i / tiles, i % tiles};
    Tile<T, kDim, kCausal, How>(job, shared, head, tile * kRows).run();
    __syncthreads();  // the next tile's queries go where this one's output was
  }
}

template <typename T, int kDim, bool kCausal, class How>
cudaError_t launch(const Attention& job, bool persistent, cudaStream_t stream) {
  const auto kernel = flash_kernel<T, kDim, kCausal, How>;
  constexpr int kShared = Tiles<kDim, How::kAhead>::kSharedBytes + Tile<T, kDim, kCausal, How>::kDebugBytes;
  if (kShared > 48 * 1024) {
    if (const cudaError_t e =
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared))
      return e;
  }
  const int tiles = (job.length + Cut<kDim>::kRows - 1) / Cut<kDim>::kRows * job.heads * job.batch;
  int blocks = tiles;
  // TODO 7: where `persistent` is set, no more blocks than run at once.
  (void)persistent;
  kernel<<<blocks, kThreads, kShared, stream>>>(job);
  return cudaGetLastError();
}

template <typename T, int kDim>
cudaError_t launch(const Attention& job, bool causal, cudaStream_t stream) {
  return causal ? launch<T, kDim, true, Swizzled>(job, PERSISTENT, stream)
                : launch<T, kDim, false, Swizzled>(job, PERSISTENT, stream);
}

// 16 bytes at a time, or not at all.
bool misaligned(const void* tensor, const Strides& strides) {
  return reinterpret_cast<uintptr_t>(tensor) % 16 != 0 ||
         (strides.batch | strides.head | strides.row) % 8 != 0;
}

// A call's arguments as a job. Without rows it is cudaSuccess with an empty batch.
cudaError_t make_job(Attention& job, const void* queries, const void* keys, const void* values, void* out,
                     const Strides* strides, int batch, int heads, int length, float scale) {
  if (batch < 0 || heads < 0 || length < 0) return cudaErrorInvalidValue;
  if (misaligned(queries, strides[0]) || misaligned(keys, strides[1]) || misaligned(values, strides[2]) ||
      misaligned(out, strides[3]))
    return cudaErrorMisalignedAddress;
  job = {queries,    keys,       values, out,   strides[0], strides[1],
         strides[2], strides[3], batch,  heads, length,     scale * static_cast<float>(M_LOG2E)};
  return cudaSuccess;
}

// The steps: half precision, heads of 64.
using Simple = void (*)(Attention, bool);
cudaError_t launch_simple(Simple kernel, int rows, const Attention& job, bool causal, cudaStream_t stream) {
  kernel<<<dim3((job.length + rows - 1) / rows, job.heads, job.batch), 128, 0, stream>>>(job, causal);
  return cudaGetLastError();
}
template <class How>
cudaError_t launch_level(const Attention& job, bool causal, cudaStream_t stream) {
  return causal ? launch<__half, kStepDim, true, How>(job, false, stream)
                : launch<__half, kStepDim, false, How>(job, false, stream);
}

#define STEP(name, call)                                                                                 \
  extern "C" int name(const void* queries, const void* keys, const void* values, void* out,              \
                      const Strides* strides, int batch, int heads, int length, float scale, int causal, \
                      cudaStream_t stream) {                                                             \
    Attention job{};                                                                                     \
    if (const cudaError_t e =                                                                            \
            make_job(job, queries, keys, values, out, strides, batch, heads, length, scale))             \
      return e;                                                                                          \
    return batch == 0 || heads == 0 || length == 0 ? cudaSuccess : call;                                 \
  }
STEP(attend_scalar, launch_simple(scalar_kernel, 4, job, causal, stream))
STEP(attend_wmma, launch_simple(wmma_kernel, 64, job, causal, stream))
STEP(attend_in_registers, launch_level<InRegisters>(job, causal, stream))
STEP(attend_async, launch_level<Asynchronous>(job, causal, stream))
STEP(attend_ahead, launch_level<Ahead>(job, causal, stream))
STEP(attend_swizzled, launch_level<Swizzled>(job, causal, stream))

// All tensors are [batch][head][length][head_dim] by their strides, in elements.
extern "C" int flash_attention(const void* queries, const void* keys, const void* values, void* out,
                               const Strides* strides, int batch, int heads, int length, int head_dim,
                               float scale, int causal, int bfloat16, cudaStream_t stream) {
  if (head_dim != 64 && head_dim != 128) return cudaErrorInvalidValue;
  Attention job{};
  if (const cudaError_t e = make_job(job, queries, keys, values, out, strides, batch, heads, length, scale))
    return e;
  if (batch == 0 || heads == 0 || length == 0) return cudaSuccess;
  if (head_dim == 64)
    return bfloat16 ? launch<__nv_bfloat16, 64>(job, causal, stream)
                    : launch<__half, 64>(job, causal, stream);
  return bfloat16 ? launch<__nv_bfloat16, 128>(job, causal, stream)
                  : launch<__half, 128>(job, causal, stream);
}

#if FLASH_DEBUG
// The same in half precision, with every score and every weight beside the output.
extern "C" int flash_attention_debug(const void* queries, const void* keys, const void* values, void* out,
                                     const Strides* strides, int batch, int heads, int length, int head_dim,
                                     float scale, int causal, float* scores, float* weights,
                                     cudaStream_t stream) {
  if (head_dim != 64 && head_dim != 128) return cudaErrorInvalidValue;
  Attention job{};
  if (const cudaError_t e = make_job(job, queries, keys, values, out, strides, batch, heads, length, scale))
    return e;
  job.scores = scores;
  job.weights = weights;
  if (batch == 0 || heads == 0 || length == 0) return cudaSuccess;
  return head_dim == 64 ? launch<__half, 64>(job, causal, stream) : launch<__half, 128>(job, causal, stream);
}
#endif
