// What the programs in this folder share: expectations that print the line that failed. Each program asks the
// CUDA runtime a set of questions whose answers were first seen on an H200, and holds on either device.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <vector>

inline int failures = 0;

inline void expect_error(cudaError_t got, cudaError_t wanted, const char* expression, const char* file,
                         int line) {
  if (got == wanted) return;
  ++failures;
  std::printf("%s:%d: %s gave %s, expected %s\n", file, line, expression, cudaGetErrorName(got),
              cudaGetErrorName(wanted));
}

inline void expect_true(bool holds, const char* expression, const char* file, int line) {
  if (holds) return;
  ++failures;
  std::printf("%s:%d: %s does not hold\n", file, line, expression);
}

// Each clears the error it expects, so that one question does not answer the next.
#define GIVES(wanted, ...)                                                 \
  do {                                                                     \
    expect_error((__VA_ARGS__), wanted, #__VA_ARGS__, __FILE__, __LINE__); \
    cudaGetLastError();                                                    \
  } while (0)
#define OK(...) GIVES(cudaSuccess, __VA_ARGS__)
#define HOLDS(expression) expect_true((expression), #expression, __FILE__, __LINE__)

inline int finish() {
  std::printf(failures == 0 ? "ok\n" : "%d expectations failed\n", failures);
  return failures == 0 ? 0 : 1;
}
