// Allocates and frees in every call, which works everywhere but in a capture.
#include "rows.h"

extern "C" int copy_many(const Row* table, int rows, cudaStream_t stream) {
  void* scratch = nullptr;
  if (const cudaError_t error = cudaMalloc(&scratch, 1024)) return error;
  const int error = copy_on(table, rows, stream);
  cudaFree(scratch);
  return error;
}
