// Attention over 512 keys of 64 dimensions, for a number of heads: out = softmax(q k' / 8) v, in fp16.
#include "bench.cuh"

namespace {

constexpr int kKeys = 512, kDim = 64;
constexpr float kScale = 0.125f * 1.44269504f;  // of scores, for powers of two

// A thread has one query and reads every key from shared memory; kWide: four halves at a time.
template <bool kWide>
__global__ void thread_per_query(const __half* q, const __half* k, const __half* v, __half* out) {
  constexpr int kTile = 32;
  __shared__ __align__(16) float k_tile[kTile][kDim], v_tile[kTile][kDim];
  const size_t head = size_t{blockIdx.y} * kKeys * kDim;
  const size_t row = head + (size_t{blockIdx.x} * blockDim.x + threadIdx.x) * kDim;
  float query[kDim], sum[kDim] = {}, largest = -INFINITY, weight = 0;
#pragma unroll
  for (int d = 0; d < kDim; ++d) query[d] = __half2float(q[row + d]);
  for (int first = 0; first < kKeys; first += kTile) {
    __syncthreads();
    for (int i = threadIdx.x; i < kTile * kDim; i += blockDim.x) {
      k_tile[i / kDim][i % kDim] = __half2float(k[head + size_t{static_cast<unsigned>(first)} * kDim + i]);
      v_tile[i / kDim][i % kDim] = __half2float(v[head + size_t{static_cast<unsigned>(first)} * kDim + i]);
    }
    __syncthreads();
    for (int j = 0; j < kTile; ++j) {
      float score = 0;
      if (kWide) {
#pragma unroll
        for (int d = 0; d < kDim; d += 4) {
          const float4 key = *reinterpret_cast<const float4*>(&k_tile[j][d]);
          score += query[d] * key.x + query[d + 1] * key.y + query[d + 2] * key.z + query[d + 3] * key.w;
        }
      } else {
#pragma unroll
        for (int d = 0; d < kDim; ++d)
          score += query[d] * reinterpret_cast<const volatile float&>(k_tile[j][d]);
      }
      const float higher = fmaxf(largest, score * kScale);
      const float keep = exp2f(largest - higher), p = exp2f(score * kScale - higher);
      weight = weight * keep + p;
      largest = higher;
#pragma unroll
      for (int d = 0; d < kDim; ++d) sum[d] = sum[d] * keep + p * v_tile[j][d];
    }
  }
#pragma unroll
  for (int d = 0; d < kDim; ++d) out[row + d] = __float2half(sum[d] / weight);
}

__device__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ void copy_async(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}

__device__ void multiply_add(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ unsigned pack(float low, float high) {
  const __half2 both = __floats2half2_rn(low, high);
  return *reinterpret_cast<const unsigned*>(&both);
}

// 64 queries a block of 4 warps on the tensor cores; kPad halves keep rows in different banks, and with two
// stages the next keys travel while these are used.
template <int kPad, int kStages>
__global__ void on_tensor_cores(const __half* q, const __half* k, const __half* v, __half* out) {
  constexpr int kTile = 64, kPitch = kDim + kPad;
  __shared__ __align__(16) __half q_tile[kTile][kPitch];
  __shared__ __align__(16) __half k_tile[kStages][kTile][kPitch], v_tile[kStages][kTile][kPitch];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const size_t head = size_t{blockIdx.y} * kKeys * kDim;
  const size_t first_row = head + size_t{blockIdx.x} * kTile * kDim;
  auto fetch = [&](__half(*to)[kPitch], const __half* from) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int unit = threadIdx.x + i * 128;
      copy_async(&to[unit / 8][unit % 8 * 8], from + unit * 8);
    }
  };
  auto fetch_keys = [&](int tile) {
    fetch(k_tile[tile % kStages], k + head + size_t{static_cast<unsigned>(tile)} * kTile * kDim);
    fetch(v_tile[tile % kStages], v + head + size_t{static_cast<unsigned>(tile)} * kTile * kDim);
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  fetch(q_tile, q + first_row);
  fetch_keys(0);
  float sum[8][4] = {}, largest[2] = {-INFINITY, -INFINITY}, weight[2] = {};
  unsigned query[4][4];
  constexpr int kTiles = kKeys / kTile;
  for (int tile = 0; tile < kTiles; ++tile) {
    if (kStages > 1 && tile + 1 < kTiles) {
      fetch_keys(tile + 1);
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
    __syncthreads();
    if (tile == 0) {
#pragma unroll
      for (int d = 0; d < 4; ++d)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(query[d][0]), "=r"(query[d][1]), "=r"(query[d][2]), "=r"(query[d][3])
                     : "r"(shared_address(&q_tile[warp * 16 + lane % 16][d * 16 + lane / 16 * 8]))
                     : "memory");
    }
    auto& keys = k_tile[tile % kStages];
    auto& values = v_tile[tile % kStages];
    float score[8][4] = {};
#pragma unroll
    for (int d = 0; d < 4; ++d)
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        unsigned key[2];
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                     : "=r"(key[0]), "=r"(key[1])
                     : "r"(shared_address(&keys[j * 8 + lane % 8][d * 16 + lane / 8 % 2 * 8]))
                     : "memory");
        multiply_add(score[j], query[d], key);
      }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float higher = largest[half];
#pragma unroll
      for (int j = 0; j < 8; ++j)
        higher = fmaxf(higher, fmaxf(score[j][2 * half], score[j][2 * half + 1]) * kScale);
      higher = fmaxf(higher, __shfl_xor_sync(0xffffffffu, higher, 1));
      higher = fmaxf(higher, __shfl_xor_sync(0xffffffffu, higher, 2));
      const float keep = exp2f(largest[half] - higher);
      largest[half] = higher;
      weight[half] *= keep;
#pragma unroll
      for (int j = 0; j < 8; ++j)
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) {
          score[j][i] = exp2f(score[j][i] * kScale - higher);
          weight[half] += score[j][i];
          sum[j][i] *= keep;
        }
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const unsigned p[4] = {pack(score[2 * j][0], score[2 * j][1]), pack(score[2 * j][2], score[2 * j][3]),
                             pack(score[2 * j + 1][0], score[2 * j + 1][1]),
                             pack(score[2 * j + 1][2], score[2 * j + 1][3])};
#pragma unroll
      for (int d = 0; d < 8; ++d) {
        unsigned value[2];
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                     : "=r"(value[0]), "=r"(value[1])
                     : "r"(shared_address(&values[j * 16 + lane % 16][d * 8]))
                     : "memory");
        multiply_add(sum[d], p, value);
      }
    }
    __syncthreads();
    if (kStages == 1 && tile + 1 < kTiles) fetch_keys(tile + 1);
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    weight[half] += __shfl_xor_sync(0xffffffffu, weight[half], 1);
    weight[half] += __shfl_xor_sync(0xffffffffu, weight[half], 2);
    __half* row = out + first_row + static_cast<size_t>(warp * 16 + lane / 4 + 8 * half) * kDim;
#pragma unroll
    for (int d = 0; d < 8; ++d)
      *reinterpret_cast<__half2*>(row + d * 8 + lane % 4 * 2) =
          __floats2half2_rn(sum[d][2 * half] / weight[half], sum[d][2 * half + 1] / weight[half]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<bench::Case> cases;
  for (int heads : {8, 64}) {
    const size_t bytes = size_t{2} * heads * kKeys * kDim;
    const std::vector<bench::Buffer> buffers = {{bytes, bench::Fill::kHalves},
                                                {bytes, bench::Fill::kHalves},
                                                {bytes, bench::Fill::kHalves},
                                                {bytes, bench::Fill::kZero}};
    const std::string size = "_" + std::to_string(heads);
    auto add = [&](const char* name, auto kernel, unsigned queries) {
      cases.push_back({"attention" + size, name + size, buffers, [=](const bench::Pointers& p) {
                         kernel<<<dim3(kKeys / queries, heads), 128>>>(
                             static_cast<const __half*>(p[0]), static_cast<const __half*>(p[1]),
                             static_cast<const __half*>(p[2]), static_cast<__half*>(p[3]));
                       }});
    };
    if (heads == 8) {
      add("attention_scalar", thread_per_query<false>, 128);
      add("attention_scalar_wide", thread_per_query<true>, 128);
    }
    add("attention_mma", on_tensor_cores<0, 1>, 64);
    add("attention_mma_padded", on_tensor_cores<8, 1>, 64);
    add("attention_mma_padded_two_stages", on_tensor_cores<8, 2>, 64);
  }
  return bench::main_of(argc, argv, cases);
}
