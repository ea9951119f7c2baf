#pragma once
#include <cstdint>
// wgmma of bits for every n, A from a descriptor (S) or from four registers (R).
#define P4 "%0, %1, %2, %3"
#define R4 "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
#define P8 P4 ", %4, %5, %6, %7"
#define R8 R4, "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7])
#define P12 P8 ", %8, %9, %10, %11"
#define R12 R8, "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11])
#define P16 P12 ", %12, %13, %14, %15"
#define R16 R12, "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15])
#define P24 P16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define R24 \
  R16, "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]), "+r"(d[23])
#define P32 P24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define R32 \
  R24, "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31])
#define P40 P32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define R40 \
  R32, "+r"(d[32]), "+r"(d[33]), "+r"(d[34]), "+r"(d[35]), "+r"(d[36]), "+r"(d[37]), "+r"(d[38]), "+r"(d[39])
#define P48 P40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define R48 \
  R40, "+r"(d[40]), "+r"(d[41]), "+r"(d[42]), "+r"(d[43]), "+r"(d[44]), "+r"(d[45]), "+r"(d[46]), "+r"(d[47])
#define P56 P48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define R56 \
  R48, "+r"(d[48]), "+r"(d[49]), "+r"(d[50]), "+r"(d[51]), "+r"(d[52]), "+r"(d[53]), "+r"(d[54]), "+r"(d[55])
#define P64 P56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define R64 \
  R56, "+r"(d[56]), "+r"(d[57]), "+r"(d[58]), "+r"(d[59]), "+r"(d[60]), "+r"(d[61]), "+r"(d[62]), "+r"(d[63])
#define P72 P64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define R72 \
  R64, "+r"(d[64]), "+r"(d[65]), "+r"(d[66]), "+r"(d[67]), "+r"(d[68]), "+r"(d[69]), "+r"(d[70]), "+r"(d[71])
#define P80 P72 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define R80 \
  R72, "+r"(d[72]), "+r"(d[73]), "+r"(d[74]), "+r"(d[75]), "+r"(d[76]), "+r"(d[77]), "+r"(d[78]), "+r"(d[79])
#define P88 P80 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define R88 \
  R80, "+r"(d[80]), "+r"(d[81]), "+r"(d[82]), "+r"(d[83]), "+r"(d[84]), "+r"(d[85]), "+r"(d[86]), "+r"(d[87])
#define P96 P88 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define R96 \
  R88, "+r"(d[88]), "+r"(d[89]), "+r"(d[90]), "+r"(d[91]), "+r"(d[92]), "+r"(d[93]), "+r"(d[94]), "+r"(d[95])
#define P104 P96 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define R104                                                                                         \
  R96, "+r"(d[96]), "+r"(d[97]), "+r"(d[98]), "+r"(d[99]), "+r"(d[100]), "+r"(d[101]), "+r"(d[102]), \
      "+r"(d[103])
#define P112 P104 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define R112                                                                                              \
  R104, "+r"(d[104]), "+r"(d[105]), "+r"(d[106]), "+r"(d[107]), "+r"(d[108]), "+r"(d[109]), "+r"(d[110]), \
      "+r"(d[111])
#define P120 P112 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define R120                                                                                              \
  R112, "+r"(d[112]), "+r"(d[113]), "+r"(d[114]), "+r"(d[115]), "+r"(d[116]), "+r"(d[117]), "+r"(d[118]), \
      "+r"(d[119])
#define P128 P120 ", %120, %121, %122, %123, %124, %125, %126, %127"
#define R128                                                                                              \
  R120, "+r"(d[120]), "+r"(d[121]), "+r"(d[122]), "+r"(d[123]), "+r"(d[124]), "+r"(d[125]), "+r"(d[126]), \
      "+r"(d[127])
#define BITS_S(n, r, i0, i1, i2)                                                                 \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %" #i2 ", 0; wgmma.mma_async.sync.aligned.m64n" #n \
               "k256.s32.b1.b1.and.popc {" P##r "}, %" #i0 ", %" #i1 ", p;}"                     \
               : R##r                                                                            \
               : "l"(da), "l"(db), "r"(adds)                                                     \
               : "memory")
#define BITS_R(n, r, i0, i1, i2, i3, i4, i5)                                                                 \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %" #i5 ", 0; wgmma.mma_async.sync.aligned.m64n" #n             \
               "k256.s32.b1.b1.and.popc {" P##r "}, {%" #i0 ", %" #i1 ", %" #i2 ", %" #i3 "}, %" #i4 ", p;}" \
               : R##r                                                                                        \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(db), "r"(adds)                              \
               : "memory")
template <int kColumns, bool kRegisters>
__device__ void multiply(uint32_t* d, const uint32_t* a, uint64_t da, uint64_t db, int adds) {
  if constexpr (kColumns == 8 && !kRegisters) BITS_S(8, 4, 4, 5, 6);
  if constexpr (kColumns == 8 && kRegisters) BITS_R(8, 4, 4, 5, 6, 7, 8, 9);
  if constexpr (kColumns == 16 && !kRegisters) BITS_S(16, 8, 8, 9, 10);
  if constexpr (kColumns == 16 && kRegisters) BITS_R(16, 8, 8, 9, 10, 11, 12, 13);
  if constexpr (kColumns == 24 && !kRegisters) BITS_S(24, 12, 12, 13, 14);
  if constexpr (kColumns == 24 && kRegisters) BITS_R(24, 12, 12, 13, 14, 15, 16, 17);
  if constexpr (kColumns == 32 && !kRegisters) BITS_S(32, 16, 16, 17, 18);
  if constexpr (kColumns == 32 && kRegisters) BITS_R(32, 16, 16, 17, 18, 19, 20, 21);
  if constexpr (kColumns == 48 && !kRegisters) BITS_S(48, 24, 24, 25, 26);
  if constexpr (kColumns == 48 && kRegisters) BITS_R(48, 24, 24, 25, 26, 27, 28, 29);
  if constexpr (kColumns == 64 && !kRegisters) BITS_S(64, 32, 32, 33, 34);
  if constexpr (kColumns == 64 && kRegisters) BITS_R(64, 32, 32, 33, 34, 35, 36, 37);
  if constexpr (kColumns == 80 && !kRegisters) BITS_S(80, 40, 40, 41, 42);
  if constexpr (kColumns == 80 && kRegisters) BITS_R(80, 40, 40, 41, 42, 43, 44, 45);
  if constexpr (kColumns == 96 && !kRegisters) BITS_S(96, 48, 48, 49, 50);
  if constexpr (kColumns == 96 && kRegisters) BITS_R(96, 48, 48, 49, 50, 51, 52, 53);
  if constexpr (kColumns == 112 && !kRegisters) BITS_S(112, 56, 56, 57, 58);
  if constexpr (kColumns == 112 && kRegisters) BITS_R(112, 56, 56, 57, 58, 59, 60, 61);
  if constexpr (kColumns == 128 && !kRegisters) BITS_S(128, 64, 64, 65, 66);
  if constexpr (kColumns == 128 && kRegisters) BITS_R(128, 64, 64, 65, 66, 67, 68, 69);
  if constexpr (kColumns == 144 && !kRegisters) BITS_S(144, 72, 72, 73, 74);
  if constexpr (kColumns == 144 && kRegisters) BITS_R(144, 72, 72, 73, 74, 75, 76, 77);
  if constexpr (kColumns == 160 && !kRegisters) BITS_S(160, 80, 80, 81, 82);
  if constexpr (kColumns == 160 && kRegisters) BITS_R(160, 80, 80, 81, 82, 83, 84, 85);
  if constexpr (kColumns == 176 && !kRegisters) BITS_S(176, 88, 88, 89, 90);
  if constexpr (kColumns == 176 && kRegisters) BITS_R(176, 88, 88, 89, 90, 91, 92, 93);
  if constexpr (kColumns == 192 && !kRegisters) BITS_S(192, 96, 96, 97, 98);
  if constexpr (kColumns == 192 && kRegisters) BITS_R(192, 96, 96, 97, 98, 99, 100, 101);
  if constexpr (kColumns == 208 && !kRegisters) BITS_S(208, 104, 104, 105, 106);
  if constexpr (kColumns == 208 && kRegisters) BITS_R(208, 104, 104, 105, 106, 107, 108, 109);
  if constexpr (kColumns == 224 && !kRegisters) BITS_S(224, 112, 112, 113, 114);
  if constexpr (kColumns == 224 && kRegisters) BITS_R(224, 112, 112, 113, 114, 115, 116, 117);
  if constexpr (kColumns == 240 && !kRegisters) BITS_S(240, 120, 120, 121, 122);
  if constexpr (kColumns == 240 && kRegisters) BITS_R(240, 120, 120, 121, 122, 123, 124, 125);
  if constexpr (kColumns == 256 && !kRegisters) BITS_S(256, 128, 128, 129, 130);
  if constexpr (kColumns == 256 && kRegisters) BITS_R(256, 128, 128, 129, 130, 131, 132, 133);
}
#define EVERY_N(X) \
  X(8)             \
  X(16)            \
  X(24) X(32) X(48) X(64) X(80) X(96) X(112) X(128) X(144) X(160) X(176) X(192) X(208) X(224) X(240) X(256)
