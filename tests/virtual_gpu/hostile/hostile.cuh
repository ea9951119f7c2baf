// What the programs of this folder share: cases chosen by name on the command line, and calls whose errors
// are printed instead of ending the program.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

struct Case {
  const char* name;
  void (*run)();
};

// "case: cudaErrorName", so that a test can look for what each call answered.
inline cudaError_t say(const char* what, cudaError_t error) {
  std::printf("%s: %s\n", what, cudaGetErrorName(error));
  std::fflush(stdout);
  return error;
}

// After a <<<>>> launch: what the launch answered, then what came of it.
inline void say_launch(const char* what) {
  const cudaError_t refused = cudaGetLastError();
  say(what, refused != cudaSuccess ? refused : cudaDeviceSynchronize());
}

template <int N>
int run_cases(int count, char** arguments, const Case (&cases)[N]) {
  for (int i = 1; i < count; ++i) {
    bool known = false;
    for (const Case& one : cases) {
      if (std::strcmp(one.name, arguments[i]) != 0) continue;
      known = true;
      one.run();
    }
    if (!known) {
      std::printf("there is no case %s\n", arguments[i]);
      return 2;
    }
  }
  return 0;
}
