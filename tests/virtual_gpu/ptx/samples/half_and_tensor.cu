// fp16, bf16, wmma, and inline PTX with its own scopes: ldmatrix, mma, cp.async, mbarrier loops.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

__global__ void half_math(const __half2* a, const __half2* b, __half2* c, float scale) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const __half2 x = __hfma2(a[i], b[i], __float2half2_rn(scale));
  c[i] = h2exp(x) + __hmax2(x, a[i]);
}

__global__ void bfloat_math(const __nv_bfloat162* a, const __nv_bfloat162* b, __nv_bfloat162* c,
                            float scale) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  c[i] = __hfma2(a[i], b[i], __float2bfloat162_rn(scale)) + a[i];
}

__global__ void wmma_tile(const half* a, const half* b, float* c) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, half, row_major> fa;
  fragment<matrix_b, 16, 16, 16, half, col_major> fb;
  fragment<accumulator, 16, 16, 16, float> fc;
  fill_fragment(fc, 0.0f);
  load_matrix_sync(fa, a, 16);
  load_matrix_sync(fb, b, 16);
  mma_sync(fc, fa, fb, fc);
  store_matrix_sync(c, fc, 16, mem_row_major);
}

__device__ void wait_for(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred done;\nWAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra END;\nbra WAIT;\nEND:\n}" ::"r"(barrier),
      "r"(parity));
}

__global__ void mma_tile(const unsigned* a, float* c) {
  __shared__ __align__(16) unsigned tile[256];
  __shared__ unsigned long long barrier;
  const unsigned address = __cvta_generic_to_shared(tile + threadIdx.x * 4);
  const unsigned barrier_address = __cvta_generic_to_shared(&barrier);
  asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 16;" ::"r"(address), "l"(a));
  asm volatile("cp.async.wait_all;");
  unsigned r[4];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address));
  float d[4] = {0, 0, 0, 0};
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(a[0]), "r"(a[1]));
  wait_for(barrier_address, 0);
  wait_for(barrier_address, 1);
  for (int i = 0; i < 4; ++i) c[i] = d[i];
}
