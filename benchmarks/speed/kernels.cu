// Kernels to time the virtual GPU itself with: `kernels NAME` launches one of them once on made-up data.
#include <cuda_fp16.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

// ---- a row copy into a paged cache, K then V, one block a token, through cp.async

__global__ void kv_store(const half* qkv, half* k_cache, half* v_cache, const int* slots, int row) {
  extern __shared__ __align__(16) half stage[];
  const half* k = qkv + static_cast<size_t>(blockIdx.x) * 3 * row + row;
  for (int at = threadIdx.x * 8; at < 2 * row; at += blockDim.x * 8) {
    const uint32_t to = static_cast<uint32_t>(__cvta_generic_to_shared(stage + at));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(k + at));
  }
  asm volatile("cp.async.commit_group;");
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  const size_t slot = static_cast<size_t>(slots[blockIdx.x]) * row;
  for (int at = threadIdx.x * 8; at < row; at += blockDim.x * 8)
    *reinterpret_cast<int4*>(k_cache + slot + at) = *reinterpret_cast<const int4*>(stage + at);
  for (int at = threadIdx.x * 8; at < row; at += blockDim.x * 8)
    *reinterpret_cast<int4*>(v_cache + slot + at) = *reinterpret_cast<const int4*>(stage + row + at);
}

// ---- the textbook reduction whose active threads are every second, fourth, eighth …

__global__ void divergent_reduction(const float* x, float* sums) {
  __shared__ float partial[256];
  partial[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  for (int step = 1; step < 256; step *= 2) {
    if (threadIdx.x % (2 * step) == 0) partial[threadIdx.x] += partial[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

// ---- matrix products on the tensor cores

__device__ void ldmatrix_x4(uint32_t (&r)[4], const half* at) {
  const uint32_t a = static_cast<uint32_t>(__cvta_generic_to_shared(at));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(a));
}
__device__ void ldmatrix_x4_trans(uint32_t (&r)[4], const half* at) {
  const uint32_t a = static_cast<uint32_t>(__cvta_generic_to_shared(at));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(a));
}
__device__ void mma(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ void copy16(half* to, const half* from) {
  const uint32_t a = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(a), "l"(from));
}

// C = A B, tiles of 64x64x32, four warps of 32x32 each; rows padded by 8 against bank conflicts.
__global__ void matmul_mma(const half* a, const half* b, float* c, int n) {
  __shared__ __align__(16) half ta[64][40], tb[32][72];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row = 32 * (warp / 2), col = 32 * (warp % 2);
  float acc[2][4][4] = {};
  for (int k = 0; k < n; k += 32) {
    for (int i = threadIdx.x; i < 64 * 4; i += 128)
      copy16(&ta[i / 4][i % 4 * 8], a + static_cast<size_t>(blockIdx.y * 64 + i / 4) * n + k + i % 4 * 8);
    for (int i = threadIdx.x; i < 32 * 8; i += 128)
      copy16(&tb[i / 8][i % 8 * 8], b + static_cast<size_t>(k + i / 8) * n + blockIdx.x * 64 + i % 8 * 8);
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    for (int kk = 0; kk < 32; kk += 16) {
      uint32_t fa[2][4], fb[2][4];
      for (int i = 0; i < 2; ++i) ldmatrix_x4(fa[i], &ta[row + 16 * i + lane % 16][kk + lane / 16 * 8]);
      for (int j = 0; j < 2; ++j) ldmatrix_x4_trans(fb[j], &tb[kk + lane % 16][col + 16 * j + lane / 16 * 8]);
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j) mma(acc[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j)
      for (int h = 0; h < 2; ++h) {
        const int r = blockIdx.y * 64 + row + 16 * i + lane / 4 + 8 * h,
                  s = blockIdx.x * 64 + col + 8 * j + lane % 4 * 2;
        *reinterpret_cast<float2*>(c + static_cast<size_t>(r) * n + s) =
            make_float2(acc[i][j][2 * h], acc[i][j][2 * h + 1]);
      }
}

// ---- attention forward, D = 64: 64 query rows a block, 16 a warp, keys in tiles of 64

__global__ void attention_mma(const half* q, const half* k, const half* v, half* o, int s, float scale) {
  __shared__ __align__(16) half tq[64][72], tk[64][72], tv[64][72];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const size_t head = static_cast<size_t>(blockIdx.y) * s * 64;
  for (int i = threadIdx.x; i < 64 * 8; i += 128)
    copy16(&tq[i / 8][i % 8 * 8], q + head + (blockIdx.x * 64 + i / 8) * 64 + i % 8 * 8);
  asm volatile("cp.async.commit_group;");
  float out[8][4] = {}, top[2] = {-1e30f, -1e30f}, sum[2] = {0, 0};
  for (int t = 0; t < s; t += 64) {
    for (int i = threadIdx.x; i < 64 * 8; i += 128) {
      copy16(&tk[i / 8][i % 8 * 8], k + head + (t + i / 8) * 64 + i % 8 * 8);
      copy16(&tv[i / 8][i % 8 * 8], v + head + (t + i / 8) * 64 + i % 8 * 8);
    }
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    float score[8][4] = {};
    for (int d = 0; d < 64; d += 16) {
      uint32_t fq[4];
      ldmatrix_x4(fq, &tq[16 * warp + lane % 16][d + lane / 16 * 8]);
      for (int j = 0; j < 4; ++j) {
        uint32_t fk[4];
        ldmatrix_x4(fk, &tk[16 * j + lane % 8 + lane / 16 * 8][d + lane / 8 % 2 * 8]);
        mma(score[2 * j], fq, fk[0], fk[1]);
        mma(score[2 * j + 1], fq, fk[2], fk[3]);
      }
    }
    for (int h = 0; h < 2; ++h) {
      float m = top[h];
      for (int j = 0; j < 8; ++j) m = fmaxf(m, fmaxf(score[j][2 * h], score[j][2 * h + 1]) * scale);
      m = fmaxf(m, __shfl_xor_sync(~0u, m, 1));
      m = fmaxf(m, __shfl_xor_sync(~0u, m, 2));
      const float shrink = exp2f(top[h] - m);
      float add = 0;
      for (int j = 0; j < 8; ++j)
        for (int e = 0; e < 2; ++e) add += score[j][2 * h + e] = exp2f(score[j][2 * h + e] * scale - m);
      sum[h] = sum[h] * shrink + add;
      top[h] = m;
      for (int j = 0; j < 8; ++j)
        for (int e = 0; e < 2; ++e) out[j][2 * h + e] *= shrink;
    }
    for (int j = 0; j < 4; ++j) {
      uint32_t p[4];
      for (int i = 0; i < 4; ++i) {
        const half2 x =
            __floats2half2_rn(score[2 * j + i / 2][i % 2 * 2], score[2 * j + i / 2][i % 2 * 2 + 1]);
        memcpy(&p[i], &x, 4);
      }
      for (int d = 0; d < 4; ++d) {
        uint32_t fv[4];
        ldmatrix_x4_trans(fv, &tv[16 * j + lane % 16][16 * d + lane / 16 * 8]);
        mma(out[2 * d], p, fv[0], fv[1]);
        mma(out[2 * d + 1], p, fv[2], fv[3]);
      }
    }
    __syncthreads();
  }
  for (int h = 0; h < 2; ++h) {
    float total = sum[h];
    total += __shfl_xor_sync(~0u, total, 1);
    total += __shfl_xor_sync(~0u, total, 2);
    const size_t row = head + (blockIdx.x * 64 + 16 * warp + lane / 4 + 8 * h) * 64;
    for (int j = 0; j < 8; ++j)
      *reinterpret_cast<half2*>(o + row + 8 * j + lane % 4 * 2) =
          __floats2half2_rn(out[j][2 * h] / total, out[j][2 * h + 1] / total);
  }
}

// One thread a query row, keys and values through shared memory, everything in scalar fp32.
__global__ void attention_scalar(const half* q, const half* k, const half* v, half* o, int s, float scale) {
  __shared__ float tk[32][64], tv[32][64];
  const size_t head = static_cast<size_t>(blockIdx.y) * s * 64,
               row = head + (blockIdx.x * blockDim.x + threadIdx.x) * 64;
  float mine[64], out[64], top = -1e30f, sum = 0;
  for (int d = 0; d < 64; ++d) mine[d] = __half2float(q[row + d]), out[d] = 0;
  for (int t = 0; t < s; t += 32) {
    for (int i = threadIdx.x; i < 32 * 64; i += blockDim.x) {
      tk[i / 64][i % 64] = __half2float(k[head + t * 64 + i]);
      tv[i / 64][i % 64] = __half2float(v[head + t * 64 + i]);
    }
    __syncthreads();
    for (int j = 0; j < 32; ++j) {
      float score = 0;
#pragma unroll
      for (int d = 0; d < 64; ++d) score = fmaf(mine[d], tk[j][d], score);
      const float m = fmaxf(top, score * scale), shrink = exp2f(top - m), p = exp2f(score * scale - m);
      sum = sum * shrink + p;
      top = m;
#pragma unroll
      for (int d = 0; d < 64; ++d) out[d] = fmaf(p, tv[j][d], out[d] * shrink);
    }
    __syncthreads();
  }
  for (int d = 0; d < 64; ++d) o[row + d] = __float2half(out[d] / sum);
}

__global__ void pure_fma(float* x, int rounds) {
  float a[8];
  for (int i = 0; i < 8; ++i) a[i] = x[blockIdx.x * blockDim.x + threadIdx.x] + i;
  for (int r = 0; r < rounds; ++r)
#pragma unroll
    for (int u = 0; u < 8; ++u)
#pragma unroll
      for (int i = 0; i < 8; ++i) a[i] = fmaf(a[i], 0.999f, 0.25f);
  float sum = 0;
  for (int i = 0; i < 8; ++i) sum += a[i];
  x[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

template <class T>
T* device(size_t n, int seed) {
  std::vector<uint8_t> bytes(n * sizeof(T));
  uint32_t state = 12345u + static_cast<uint32_t>(seed);
  for (size_t i = 0; i < n; ++i) {
    state = state * 1664525u + 1013904223u;
    const float x = static_cast<float>(state >> 8) / (1 << 24) - 0.5f;
    const T value = static_cast<T>(x);
    memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  T* p = nullptr;
  cudaMalloc(&p, bytes.size());
  cudaMemcpy(p, bytes.data(), bytes.size(), cudaMemcpyHostToDevice);
  return p;
}

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  auto is = [&](const char* wanted) { return strcmp(name, wanted) == 0; };
  if (is("kv_store")) {
    std::vector<int> order(512);
    for (int i = 0; i < 512; ++i) order[i] = i * 5 % 512;
    int* slots = device<int>(512, 0);
    cudaMemcpy(slots, order.data(), 512 * sizeof(int), cudaMemcpyHostToDevice);
    kv_store<<<512, 128, 2 * 1024 * sizeof(half)>>>(device<half>(512 * 3 * 1024, 1),
                                                    device<half>(512 * 1024, 2), device<half>(512 * 1024, 3),
                                                    slots, 1024);
  } else if (is("divergent_reduction")) {
    divergent_reduction<<<(1 << 20) / 256, 256>>>(device<float>(1 << 20, 1), device<float>(4096, 2));
  } else if (is("matmul_mma")) {
    matmul_mma<<<dim3(8, 8), 128>>>(device<half>(512 * 512, 1), device<half>(512 * 512, 2),
                                    device<float>(512 * 512, 3), 512);
  } else if (is("attention_mma") || is("attention_scalar")) {
    half *q = device<half>(8 * 512 * 64, 1), *k = device<half>(8 * 512 * 64, 2),
         *v = device<half>(8 * 512 * 64, 3), *o = device<half>(8 * 512 * 64, 4);
    if (is("attention_mma"))
      attention_mma<<<dim3(8, 8), 128>>>(q, k, v, o, 512, 0.125f * 1.4427f);
    else
      attention_scalar<<<dim3(4, 8), 128>>>(q, k, v, o, 512, 0.125f * 1.4427f);
  } else if (is("pure_fma")) {
    pure_fma<<<64, 256>>>(device<float>(64 * 256, 1), 256);
  } else {
    printf(
        "usage: kernels kv_store|divergent_reduction|matmul_mma|attention_mma|attention_scalar|pure_fma\n");
    return 2;
  }
  const cudaError_t e = cudaDeviceSynchronize();
  if (e != cudaSuccess) printf("%s\n", cudaGetErrorString(e));
  return e != cudaSuccess;
}
