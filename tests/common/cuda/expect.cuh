// What a test program expects: the first that does not hold is named, and ends it.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define EXPECT(condition)                                              \
  do {                                                                 \
    if (!(condition)) {                                                \
      std::fprintf(stderr, "line %d: not %s\n", __LINE__, #condition); \
      std::exit(1);                                                    \
    }                                                                  \
  } while (false)

// out[i] += amount: shows how often, and in which order with others, it ran.
__global__ inline void add(int* out, int amount) {
  out[threadIdx.x] += amount;
}

// The first of a few numbers on the device, once all before it on the stream is done.
inline int first_of(const int* device, cudaStream_t stream) {
  int found = -1;
  EXPECT(cudaMemcpyAsync(&found, device, sizeof found, cudaMemcpyDeviceToHost, stream) == cudaSuccess);
  EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
  return found;
}
