// What the programs in this folder share. Each asks the driver API a set of questions, and holds on either
// device.
#pragma once

#include <cuda.h>

#include "../api/expect.cuh"

inline void expect_result(CUresult got, CUresult wanted, const char* expression, const char* file, int line) {
  if (got == wanted) return;
  ++failures;
  const char *name = "?", *other = "?";
  cuGetErrorName(got, &name);
  cuGetErrorName(wanted, &other);
  std::printf("%s:%d: %s gave %s, expected %s\n", file, line, expression, name, other);
}

#define ANSWERS(wanted, ...) expect_result((__VA_ARGS__), wanted, #__VA_ARGS__, __FILE__, __LINE__)
#define DONE(...) ANSWERS(CUDA_SUCCESS, __VA_ARGS__)

// y[i] = factor * x[i] + bias, for i below n; `bias` is a variable of the module.
inline const char* const kScalePtx = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .global .align 4 .f32 bias = 0f3F800000;
.visible .entry scale(.param .u64 x, .param .u64 y, .param .f32 factor, .param .u32 n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .f32 %f<6>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  ld.param.f32 %f1, [factor];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra END;
  mul.wide.u32 %rd3, %r5, 4;
  cvta.to.global.u64 %rd4, %rd1;
  cvta.to.global.u64 %rd5, %rd2;
  add.u64 %rd4, %rd4, %rd3;
  add.u64 %rd5, %rd5, %rd3;
  ld.global.f32 %f2, [%rd4];
  ld.global.f32 %f3, [bias];
  fma.rn.f32 %f4, %f1, %f2, %f3;
  st.global.f32 [%rd5], %f4;
END:
  ret;
}
)";
