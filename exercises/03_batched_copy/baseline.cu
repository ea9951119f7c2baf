// The copies to beat: one plain launch for each descriptor, one after the other on the caller's stream.
//
// Each launch is a good copy by itself (single_copy.cuh). The launches cost the time: each waits for the one
// before, although the copies do not depend on each other.
#include <cuda_runtime.h>

#include "copy_batch.cuh"
#include "single_copy.cuh"

extern "C" int batched_copy(const CopyDescriptor* descriptors, int count, cudaStream_t stream) {
  if (const cudaError_t error = check_copies(descriptors, count)) return error;
  for (int i = 0; i < count; ++i) {
    if (is_empty(descriptors[i])) continue;
    if (const cudaError_t error = copy_one(descriptors[i], stream)) return error;
  }
  return cudaSuccess;
}
