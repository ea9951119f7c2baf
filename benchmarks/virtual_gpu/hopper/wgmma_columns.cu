// wgmma on bf16 with numbers of columns that are no powers of two: 16, 24, 48, 96 and 192.
#include <cuda_bf16.h>

#include "one_tile.cuh"

using namespace hopper;

#define ASM(form, results, at_a, at_b, at_adds)                                                    \
  "{.reg .pred p; setp.ne.b32 p, %" at_adds ", 0; wgmma.mma_async.sync.aligned." form " {" results \
  "}, %" at_a ", %" at_b ", p, 1, 1, 0, 0;}"
#define REGISTERS_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define REGISTERS_12 REGISTERS_8 ", %8, %9, %10, %11"
#define REGISTERS_24 REGISTERS_12 ", %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23"
#define REGISTERS_48                                                                             \
  REGISTERS_24                                                                                   \
  ", %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, " \
  "%42, %43, %44, %45, %46, %47"
#define REGISTERS_96                                                                                \
  REGISTERS_48                                                                                      \
  ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, "    \
  "%66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, " \
  "%85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define INPUTS "l"(a), "l"(b), "r"(adds)

WGMMA_FORM(Columns16, 16,
           asm volatile(ASM("m64n16k16.f32.bf16.bf16", REGISTERS_8, "8", "9",
                            "10") : WGMMA_R8(d, 0) : INPUTS : "memory"));
WGMMA_FORM(Columns24, 24,
           asm volatile(ASM("m64n24k16.f32.bf16.bf16", REGISTERS_12, "12", "13", "14") : WGMMA_R8(d, 0),
                        WGMMA_R4(d, 8) : INPUTS : "memory"));
WGMMA_FORM(Columns48, 48,
           asm volatile(ASM("m64n48k16.f32.bf16.bf16", REGISTERS_24, "24", "25", "26") : WGMMA_R16(d, 0),
                        WGMMA_R8(d, 16) : INPUTS : "memory"));
WGMMA_FORM(Columns96, 96,
           asm volatile(ASM("m64n96k16.f32.bf16.bf16", REGISTERS_48, "48", "49", "50") : WGMMA_R32(d, 0),
                        WGMMA_R16(d, 32) : INPUTS : "memory"));
WGMMA_FORM(Columns192, 192,
           asm volatile(ASM("m64n192k16.f32.bf16.bf16", REGISTERS_96, "96", "97", "98") : WGMMA_R64(d, 0),
                        WGMMA_R32(d, 64) : INPUTS : "memory"));
#undef ASM
#undef INPUTS

int main() {
  Report report("wgmma_columns");
  Random random(105);
  using Bf16 = __nv_bfloat16;
  check_tile<Columns16, Bf16, Bf16, float>(report, "n16", random, -8, 8);
  check_tile<Columns24, Bf16, Bf16, float>(report, "n24", random, -8, 8);
  check_tile<Columns48, Bf16, Bf16, float>(report, "n48", random, -8, 8);
  check_tile<Columns96, Bf16, Bf16, float>(report, "n96", random, -8, 8);
  check_tile<Columns192, Bf16, Bf16, float>(report, "n192", random, -8, 8);
  return report.finish();
}
