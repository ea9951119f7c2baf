// wgmma.mma_async, and descriptors of matrices in shared memory. Registers are 32 bits wide, whatever they
// hold.
#pragma once

#include <cstdint>

#include "instructions.cuh"

namespace hopper {

__device__ inline void products_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ inline void products_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kPending = 0>
__device__ void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
// Offsets in bytes; swizzle 0 none, 1 of 128 bytes, 2 of 64, 3 of 32.
__device__ inline uint64_t descriptor(const void* matrix, uint32_t leading, uint32_t stride,
                                      uint64_t swizzle) {
  return (shared_address(matrix) & 0x3ffff) >> 4 | static_cast<uint64_t>(leading >> 4) << 16 |
         static_cast<uint64_t>(stride >> 4) << 32 | swizzle << 62;
}

#define WGMMA_R4(d, i) "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3])
#define WGMMA_R8(d, i) WGMMA_R4(d, i), WGMMA_R4(d, i + 4)
#define WGMMA_R16(d, i) WGMMA_R8(d, i), WGMMA_R8(d, i + 8)
#define WGMMA_R32(d, i) WGMMA_R16(d, i), WGMMA_R16(d, i + 16)
#define WGMMA_N4 "{%0, %1, %2, %3}"
#define WGMMA_N16 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}"
#define WGMMA_N32                                                                                         \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, " \
  "%22, "                                                                                                 \
  "%23, %24, %25, %26, %27, %28, %29, %30, %31}"

// wgmma of `form` such as "m64n64k16.f32.f16.f16"; `tail` follows the predicate. The old result is added
// where `adds` is not 0. _S: A from a descriptor, _R: from four registers.
#define WGMMA_4_S(form, tail, d, a, b, adds)                                                          \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %6, 0; wgmma.mma_async.sync.aligned." form " " WGMMA_N4 \
               ", %4, %5, p" tail ";}"                                                                \
               : WGMMA_R4(d, 0)                                                                       \
               : "l"(a), "l"(b), "r"(static_cast<int>(adds))                                          \
               : "memory")
#define WGMMA_16_S(form, tail, d, a, b, adds)                                                           \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %18, 0; wgmma.mma_async.sync.aligned." form " " WGMMA_N16 \
               ", %16, %17, p" tail ";}"                                                                \
               : WGMMA_R16(d, 0)                                                                        \
               : "l"(a), "l"(b), "r"(static_cast<int>(adds))                                            \
               : "memory")
#define WGMMA_32_S(form, tail, d, a, b, adds)                                                           \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned." form " " WGMMA_N32 \
               ", %32, %33, p" tail ";}"                                                                \
               : WGMMA_R32(d, 0)                                                                        \
               : "l"(a), "l"(b), "r"(static_cast<int>(adds))                                            \
               : "memory")
#define WGMMA_32_R(form, tail, d, a, b, adds)                                                           \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %37, 0; wgmma.mma_async.sync.aligned." form " " WGMMA_N32 \
               ", {%32, %33, %34, %35}, %36, p" tail ";}"                                               \
               : WGMMA_R32(d, 0)                                                                        \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(adds))        \
               : "memory")
#define WGMMA_16_R(form, tail, d, a, b, adds)                                                           \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %21, 0; wgmma.mma_async.sync.aligned." form " " WGMMA_N16 \
               ", {%16, %17, %18, %19}, %20, p" tail ";}"                                               \
               : WGMMA_R16(d, 0)                                                                        \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(adds))        \
               : "memory")

#define WGMMA_R64(d, i) WGMMA_R32(d, i), WGMMA_R32(d, i + 32)
#define WGMMA_R128(d, i) WGMMA_R64(d, i), WGMMA_R64(d, i + 64)
#define WGMMA_N64                                                                                         \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, " \
  "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, "  \
  "%42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, "  \
  "%62, %63}"
#define WGMMA_64_S(form, tail, d, a, b, adds)                                                           \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned." form " " WGMMA_N64 \
               ", %64, %65, p" tail ";}"                                                                \
               : WGMMA_R64(d, 0)                                                                        \
               : "l"(a), "l"(b), "r"(static_cast<int>(adds))                                            \
               : "memory")
#define WGMMA_N128                                                                                         \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, "  \
  "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, "   \
  "%42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, "   \
  "%62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, "   \
  "%82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, " \
  "%102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, " \
  "%119, %120, %121, %122, %123, %124, %125, %126, %127}"
#define WGMMA_128_S(form, tail, d, a, b, adds)                                                            \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %130, 0; wgmma.mma_async.sync.aligned." form " " WGMMA_N128 \
               ", %128, %129, p" tail ";}"                                                                \
               : WGMMA_R128(d, 0)                                                                         \
               : "l"(a), "l"(b), "r"(static_cast<int>(adds))                                              \
               : "memory")

}  // namespace hopper
