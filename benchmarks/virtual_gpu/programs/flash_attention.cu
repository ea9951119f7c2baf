// Causal attention in one pass: four warps of 16 queries each, keys and values double-buffered with cp.async,
// fragments by ldmatrix, products by mma.sync, softmax kept on line in registers.
#include <cuda_fp16.h>

#include "fragments.cuh"

constexpr int kDim = 64, kQueries = 64, kKeys = 32, kThreads = 128;
constexpr int kPitch = kDim + 8;  // 144 bytes: the eight rows of an ldmatrix fall into different banks

struct Tiles {
  __half q[kQueries][kPitch];
  __half k[2][kKeys][kPitch];
  __half v[2][kKeys][kPitch];
};

// Rows at or beyond the end are filled with zeros.
__device__ void fetch_rows(__half (*to)[kPitch], const __half* from, int first, int rows, int length) {
  for (int chunk = threadIdx.x; chunk < rows * (kDim / 8); chunk += kThreads) {
    const int row = chunk / (kDim / 8), column = chunk % (kDim / 8) * 8;
    const bool inside = first + row < length;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(&to[row][column])),
                 "l"(from + (inside ? (first + row) * kDim + column : 0)), "r"(inside ? 16 : 0)
                 : "memory");
  }
}

__device__ void ldmatrix_x4(uint32_t (&r)[4], const __half* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}
__device__ void ldmatrix_x4_trans(uint32_t (&r)[4], const __half* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}
__device__ void mma(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, "
      "%1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ uint32_t packed(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

__global__ void __launch_bounds__(kThreads)
    attend(const __half* q, const __half* k, const __half* v, float* out, int length, float scale) {
  __shared__ __align__(16) Tiles tiles;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, first_query = blockIdx.x * kQueries;
  const int64_t head = static_cast<int64_t>(blockIdx.y) * length * kDim;
  const int keys = min(length, first_query + kQueries), key_tiles = (keys + kKeys - 1) / kKeys;

  fetch_rows(tiles.q, q + head, first_query, kQueries, length);
  fetch_rows(tiles.k[0], k + head, 0, kKeys, length);
  fetch_rows(tiles.v[0], v + head, 0, kKeys, length);
  asm volatile("cp.async.commit_group;" ::: "memory");

  float output[kDim / 8][4] = {}, row_max[2] = {-INFINITY, -INFINITY}, row_sum[2] = {0, 0};
  for (int tile = 0; tile < key_tiles; ++tile) {
    const int stage = tile % 2;
    if (tile + 1 < key_tiles) {
      fetch_rows(tiles.k[stage ^ 1], k + head, (tile + 1) * kKeys, kKeys, length);
      fetch_rows(tiles.v[stage ^ 1], v + head, (tile + 1) * kKeys, kKeys, length);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();

    float scores[kKeys / 8][4] = {};
    for (int d = 0; d < kDim; d += 32) {
      uint32_t left[4], right[4];
      ldmatrix_x4(left, &tiles.q[warp * 16 + lane % 16][d + lane / 16 * 8]);
      ldmatrix_x4(right, &tiles.q[warp * 16 + lane % 16][d + 16 + lane / 16 * 8]);
      for (int n = 0; n < kKeys / 8; ++n) {
        uint32_t b[4];
        ldmatrix_x4(b, &tiles.k[stage][n * 8 + lane % 8][d + lane / 8 * 8]);
        mma(scores[n], left, b[0], b[1]);
        mma(scores[n], right, b[2], b[3]);
      }
    }

    for (int half = 0; half < 2; ++half) {
      const int query = first_query + warp * 16 + lane / 4 + half * 8;
      float most = row_max[half];
      for (int n = 0; n < kKeys / 8; ++n) {
        for (int e = 0; e < 2; ++e) {
          const int key = tile * kKeys + n * 8 + lane % 4 * 2 + e;
          float& score = scores[n][half * 2 + e];
          score = key <= query && key < length ? score * scale : -INFINITY;
          most = fmaxf(most, score);
        }
      }
      // The four lanes of a group share a row.
      most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
      most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
      const float correction = exp2f(row_max[half] - most);
      row_max[half] = most;
      row_sum[half] *= correction;
      for (auto& part : output) {
        part[half * 2] *= correction;
        part[half * 2 + 1] *= correction;
      }
      for (auto& part : scores) {
        for (int e = 0; e < 2; ++e) row_sum[half] += part[half * 2 + e] = exp2f(part[half * 2 + e] - most);
      }
    }

    for (int step = 0; step < kKeys / 16; ++step) {
      const float (&low)[4] = scores[2 * step], (&high)[4] = scores[2 * step + 1];
      const uint32_t p[4] = {packed(low[0], low[1]), packed(low[2], low[3]), packed(high[0], high[1]),
                             packed(high[2], high[3])};
      for (int d = 0; d < kDim / 16; ++d) {
        uint32_t b[4];
        ldmatrix_x4_trans(b, &tiles.v[stage][step * 16 + lane % 16][d * 16 + lane / 16 * 8]);
        mma(output[2 * d], p, b[0], b[1]);
        mma(output[2 * d + 1], p, b[2], b[3]);
      }
    }
    __syncthreads();  // the stage is filled again in the next round
  }

  for (int half = 0; half < 2; ++half) {
    float sum = row_sum[half];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    const int query = first_query + warp * 16 + lane / 4 + half * 8;
    if (query >= length) continue;
    for (int d = 0; d < kDim / 8; ++d) {
      float2 pair = make_float2(output[d][half * 2] / sum, output[d][half * 2 + 1] / sum);
      *reinterpret_cast<float2*>(out + head + query * kDim + d * 8 + lane % 4 * 2) = pair;
    }
  }
}

std::vector<double> reference(const std::vector<__half>& q, const std::vector<__half>& k,
                              const std::vector<__half>& v, int heads, int length) {
  std::vector<double> out(q.size(), 0.0);
  for (int h = 0; h < heads; ++h) {
    for (int i = 0; i < length; ++i) {
      const size_t row = (static_cast<size_t>(h) * length + i) * kDim;
      std::vector<double> weights(i + 1);
      double sum = 0;
      for (int j = 0; j <= i; ++j) {
        const size_t key = (static_cast<size_t>(h) * length + j) * kDim;
        double dot = 0;
        for (int d = 0; d < kDim; ++d)
          dot += static_cast<double>(__half2float(q[row + d])) * __half2float(k[key + d]);
        sum += weights[j] = std::exp(dot / std::sqrt(double{kDim}));
      }
      for (int j = 0; j <= i; ++j) {
        const size_t key = (static_cast<size_t>(h) * length + j) * kDim;
        for (int d = 0; d < kDim; ++d) out[row + d] += weights[j] / sum * __half2float(v[key + d]);
      }
    }
  }
  return out;
}

int main() {
  Report report("flash_attention");
  const int heads = 2, length = 90;  // neither a whole number of query tiles nor of key tiles
  Random random(43);
  std::vector<__half> q(heads * length * kDim), k(q.size()), v(q.size());
  for (auto* tensor : {&q, &k, &v}) {
    for (__half& value : *tensor) value = __float2half(random.uniform(-1.5f, 1.5f));
  }
  DeviceBuffer<__half> q_input(q), k_input(k), v_input(v);
  DeviceBuffer<float> output(q.size());
  const float scale = 1.4426950408889634f / std::sqrt(static_cast<float>(kDim));  // exp2 instead of exp
  attend<<<dim3(blocks_for(length, kQueries), heads), kThreads>>>(q_input.get(), k_input.get(), v_input.get(),
                                                                  output.get(), length, scale);
  LAUNCHED_OK();
  // Weights are rounded to half before the second product: 2^-11 relative, on values up to 1.5.
  report.near("attention", output.download(), reference(q, k, v, heads, length), 2e-3, 1.5e-3);
  return report.finish();
}
