// How many multiprocessors the current device has: what a launch that fills a GPU goes by. Asked once.
#pragma once

#include <cuda_runtime.h>

inline int multiprocessors() {
  static const int count = [] {
    int device = 0, found = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&found, cudaDevAttrMultiProcessorCount, device);
    return found;
  }();
  return count;
}
