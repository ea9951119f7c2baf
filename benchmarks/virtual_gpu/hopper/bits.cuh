// wgmma of bits, for every number of columns that PTX has: the sums are the bits set in both a row of A and a
// column of B.
#pragma once

#include "wgmma.cuh"

namespace hopper {

// clang-format off
// The registers of a result, as operands of asm and as PTX names them.
#define BITS_D4 WGMMA_R4(d, 0)
#define BITS_N4 "%0, %1, %2, %3"
#define BITS_D8 BITS_D4, WGMMA_R4(d, 4)
#define BITS_N8 BITS_N4 ", %4, %5, %6, %7"
#define BITS_D12 BITS_D8, WGMMA_R4(d, 8)
#define BITS_N12 BITS_N8 ", %8, %9, %10, %11"
#define BITS_D16 BITS_D12, WGMMA_R4(d, 12)
#define BITS_N16 BITS_N12 ", %12, %13, %14, %15"
#define BITS_D24 BITS_D16, WGMMA_R4(d, 16), WGMMA_R4(d, 20)
#define BITS_N24 BITS_N16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define BITS_D32 BITS_D24, WGMMA_R4(d, 24), WGMMA_R4(d, 28)
#define BITS_N32 BITS_N24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define BITS_D40 BITS_D32, WGMMA_R4(d, 32), WGMMA_R4(d, 36)
#define BITS_N40 BITS_N32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define BITS_D48 BITS_D40, WGMMA_R4(d, 40), WGMMA_R4(d, 44)
#define BITS_N48 BITS_N40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define BITS_D56 BITS_D48, WGMMA_R4(d, 48), WGMMA_R4(d, 52)
#define BITS_N56 BITS_N48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define BITS_D64 BITS_D56, WGMMA_R4(d, 56), WGMMA_R4(d, 60)
#define BITS_N64 BITS_N56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define BITS_D72 BITS_D64, WGMMA_R4(d, 64), WGMMA_R4(d, 68)
#define BITS_N72 BITS_N64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define BITS_D80 BITS_D72, WGMMA_R4(d, 72), WGMMA_R4(d, 76)
#define BITS_N80 BITS_N72 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define BITS_D88 BITS_D80, WGMMA_R4(d, 80), WGMMA_R4(d, 84)
#define BITS_N88 BITS_N80 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define BITS_D96 BITS_D88, WGMMA_R4(d, 88), WGMMA_R4(d, 92)
#define BITS_N96 BITS_N88 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define BITS_D104 BITS_D96, WGMMA_R4(d, 96), WGMMA_R4(d, 100)
#define BITS_N104 BITS_N96 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define BITS_D112 BITS_D104, WGMMA_R4(d, 104), WGMMA_R4(d, 108)
#define BITS_N112 BITS_N104 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define BITS_D120 BITS_D112, WGMMA_R4(d, 112), WGMMA_R4(d, 116)
#define BITS_N120 BITS_N112 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define BITS_D128 BITS_D120, WGMMA_R4(d, 120), WGMMA_R4(d, 124)
#define BITS_N128 BITS_N120 ", %120, %121, %122, %123, %124, %125, %126, %127"

// The numbers are those of the operands behind the result's.
#define BITS_SHARED(n, r, i0, i1, i2)                                                                  \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %" #i2 ", 0; wgmma.mma_async.sync.aligned.m64n" #n       \
               "k256.s32.b1.b1.and.popc {" BITS_N##r "}, %" #i0 ", %" #i1 ", p;}"                      \
               : BITS_D##r                                                                             \
               : "l"(a_matrix), "l"(b_matrix), "r"(adds)                                               \
               : "memory")
#define BITS_REGISTERS(n, r, i0, i1, i2, i3, i4, i5)                                                   \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %" #i5 ", 0; wgmma.mma_async.sync.aligned.m64n" #n       \
               "k256.s32.b1.b1.and.popc {" BITS_N##r "}, {%" #i0 ", %" #i1 ", %" #i2 ", %" #i3 "}, %" #i4 \
               ", p;}"                                                                                 \
               : BITS_D##r                                                                             \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b_matrix), "r"(adds)                  \
               : "memory")
// clang-format on

// A from four registers or from a descriptor; the old result is added where `adds` is not 0.
template <int kColumns, bool kRegisters>
__device__ void multiply_bits(uint32_t* d, const uint32_t* a, uint64_t a_matrix, uint64_t b_matrix,
                              int adds) {
  if constexpr (kColumns == 8 && !kRegisters) BITS_SHARED(8, 4, 4, 5, 6);
  if constexpr (kColumns == 8 && kRegisters) BITS_REGISTERS(8, 4, 4, 5, 6, 7, 8, 9);
  if constexpr (kColumns == 16 && !kRegisters) BITS_SHARED(16, 8, 8, 9, 10);
  if constexpr (kColumns == 16 && kRegisters) BITS_REGISTERS(16, 8, 8, 9, 10, 11, 12, 13);
  if constexpr (kColumns == 24 && !kRegisters) BITS_SHARED(24, 12, 12, 13, 14);
  if constexpr (kColumns == 24 && kRegisters) BITS_REGISTERS(24, 12, 12, 13, 14, 15, 16, 17);
  if constexpr (kColumns == 32 && !kRegisters) BITS_SHARED(32, 16, 16, 17, 18);
  if constexpr (kColumns == 32 && kRegisters) BITS_REGISTERS(32, 16, 16, 17, 18, 19, 20, 21);
  if constexpr (kColumns == 48 && !kRegisters) BITS_SHARED(48, 24, 24, 25, 26);
  if constexpr (kColumns == 48 && kRegisters) BITS_REGISTERS(48, 24, 24, 25, 26, 27, 28, 29);
  if constexpr (kColumns == 64 && !kRegisters) BITS_SHARED(64, 32, 32, 33, 34);
  if constexpr (kColumns == 64 && kRegisters) BITS_REGISTERS(64, 32, 32, 33, 34, 35, 36, 37);
  if constexpr (kColumns == 80 && !kRegisters) BITS_SHARED(80, 40, 40, 41, 42);
  if constexpr (kColumns == 80 && kRegisters) BITS_REGISTERS(80, 40, 40, 41, 42, 43, 44, 45);
  if constexpr (kColumns == 96 && !kRegisters) BITS_SHARED(96, 48, 48, 49, 50);
  if constexpr (kColumns == 96 && kRegisters) BITS_REGISTERS(96, 48, 48, 49, 50, 51, 52, 53);
  if constexpr (kColumns == 112 && !kRegisters) BITS_SHARED(112, 56, 56, 57, 58);
  if constexpr (kColumns == 112 && kRegisters) BITS_REGISTERS(112, 56, 56, 57, 58, 59, 60, 61);
  if constexpr (kColumns == 128 && !kRegisters) BITS_SHARED(128, 64, 64, 65, 66);
  if constexpr (kColumns == 128 && kRegisters) BITS_REGISTERS(128, 64, 64, 65, 66, 67, 68, 69);
  if constexpr (kColumns == 144 && !kRegisters) BITS_SHARED(144, 72, 72, 73, 74);
  if constexpr (kColumns == 144 && kRegisters) BITS_REGISTERS(144, 72, 72, 73, 74, 75, 76, 77);
  if constexpr (kColumns == 160 && !kRegisters) BITS_SHARED(160, 80, 80, 81, 82);
  if constexpr (kColumns == 160 && kRegisters) BITS_REGISTERS(160, 80, 80, 81, 82, 83, 84, 85);
  if constexpr (kColumns == 176 && !kRegisters) BITS_SHARED(176, 88, 88, 89, 90);
  if constexpr (kColumns == 176 && kRegisters) BITS_REGISTERS(176, 88, 88, 89, 90, 91, 92, 93);
  if constexpr (kColumns == 192 && !kRegisters) BITS_SHARED(192, 96, 96, 97, 98);
  if constexpr (kColumns == 192 && kRegisters) BITS_REGISTERS(192, 96, 96, 97, 98, 99, 100, 101);
  if constexpr (kColumns == 208 && !kRegisters) BITS_SHARED(208, 104, 104, 105, 106);
  if constexpr (kColumns == 208 && kRegisters) BITS_REGISTERS(208, 104, 104, 105, 106, 107, 108, 109);
  if constexpr (kColumns == 224 && !kRegisters) BITS_SHARED(224, 112, 112, 113, 114);
  if constexpr (kColumns == 224 && kRegisters) BITS_REGISTERS(224, 112, 112, 113, 114, 115, 116, 117);
  if constexpr (kColumns == 240 && !kRegisters) BITS_SHARED(240, 120, 120, 121, 122);
  if constexpr (kColumns == 240 && kRegisters) BITS_REGISTERS(240, 120, 120, 121, 122, 123, 124, 125);
  if constexpr (kColumns == 256 && !kRegisters) BITS_SHARED(256, 128, 128, 129, 130);
  if constexpr (kColumns == 256 && kRegisters) BITS_REGISTERS(256, 128, 128, 129, 130, 131, 132, 133);
}

}  // namespace hopper
