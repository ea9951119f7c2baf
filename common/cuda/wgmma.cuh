// The tensor cores' matrix products of four warps (wgmma, sm_90a): 64 rows, kColumns columns, 16 deep.
//
// Warp w of the four has rows 16 w to 16 w + 15 of A and of the result. With g = lane / 4 and t = lane % 4, a
// lane holds of the result rows g (d[4 i], d[4 i + 1]) and g + 8 (d[4 i + 2], d[4 i + 3]), columns 8 i + 2 t
// and the next. Of A in registers it holds the same rows: columns 2 t and 2 t + 1 of row g, of row g + 8,
// then columns 2 t + 8 and 2 t + 9 of both.
//
// A product runs while its warps go on. Its registers belong to it from begin_products() until a wait, and so
// does the shared memory that it reads.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "mbarrier.cuh"

// Before the first product, and whenever its registers were changed by other instructions.
__device__ inline void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
// Products since the last commit become a group.
__device__ inline void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Waits until all but the newest kLeft groups are complete.
template <int kLeft>
__device__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}
// The compiler keeps registers of a running product where they are.
template <int kCount>
__device__ void hold(float (&registers)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(registers[i])::"memory");
}
template <int kCount>
__device__ void hold(uint32_t (&registers)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+r"(registers[i])::"memory");
}

// A matrix in swizzled tiles of 128-byte rows. Eight rows are 1,024 bytes. `leading` is the distance in bytes
// between tiles side by side, for matrices whose rows are the depth of the product and wider than a tile.
__device__ inline uint64_t describe(const void* matrix, uint32_t leading = 16) {
  constexpr uint64_t kSwizzle128 = 1ull << 62, kEightRows = (1024ull >> 4) << 32;
  return (shared_address(matrix) & 0x3ffff) >> 4 | static_cast<uint64_t>(leading >> 4) << 16 | kEightRows |
         kSwizzle128;
}

#define WGMMA_8(d, i)                                                                         \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define WGMMA_32(d, i) WGMMA_8(d, i), WGMMA_8(d, i + 8), WGMMA_8(d, i + 16), WGMMA_8(d, i + 24)
#define WGMMA_NAMES_32                                                                                    \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, " \
  "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define WGMMA_NAMES_64                                                                                    \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, " \
  "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, "  \
  "%42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, "  \
  "%62, %63}"

template <int kColumns>
struct Product;

// Keys: d (+)= A B^T. A from shared memory, 64 rows; B has a row for each column of d. `adds` is 0 where d
// begins. Values: d (+)= A B. A from registers; B has 16 rows, the depth.
#define WGMMA_PRODUCT_64(type, name)                                                                      \
  static __device__ void multiply(float (&d)[32], uint64_t a, uint64_t b, int adds, type) {               \
    asm volatile("{.reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32." name \
                 "." name " " WGMMA_NAMES_32 ", %32, %33, p, 1, 1, 0, 0;}"                                \
                 : WGMMA_32(d, 0)                                                                         \
                 : "l"(a), "l"(b), "r"(adds)                                                              \
                 : "memory");                                                                             \
  }                                                                                                       \
  static __device__ void multiply_transposed(float (&d)[32], const uint32_t* a, uint64_t b, type) {       \
    asm volatile("{.reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32." name   \
                 "." name " " WGMMA_NAMES_32 ", {%32, %33, %34, %35}, %36, p, 1, 1, 1;}"                  \
                 : WGMMA_32(d, 0)                                                                         \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)                                     \
                 : "memory");                                                                             \
  }
template <>
struct Product<64> {
  WGMMA_PRODUCT_64(__half, "f16")
  WGMMA_PRODUCT_64(__nv_bfloat16, "bf16")
};
#define WGMMA_PRODUCT_128(type, name)                                                                      \
  static __device__ void multiply(float (&d)[64], uint64_t a, uint64_t b, int adds, type) {                \
    asm volatile("{.reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32." name \
                 "." name " " WGMMA_NAMES_64 ", %64, %65, p, 1, 1, 0, 0;}"                                 \
                 : WGMMA_32(d, 0), WGMMA_32(d, 32)                                                         \
                 : "l"(a), "l"(b), "r"(adds)                                                               \
                 : "memory");                                                                              \
  }                                                                                                        \
  static __device__ void multiply_transposed(float (&d)[64], const uint32_t* a, uint64_t b, type) {        \
    asm volatile("{.reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32." name   \
                 "." name " " WGMMA_NAMES_64 ", {%64, %65, %66, %67}, %68, p, 1, 1, 1;}"                   \
                 : WGMMA_32(d, 0), WGMMA_32(d, 32)                                                         \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)                                      \
                 : "memory");                                                                              \
  }
template <>
struct Product<128> {
  WGMMA_PRODUCT_128(__half, "f16")
  WGMMA_PRODUCT_128(__nv_bfloat16, "bf16")
};
