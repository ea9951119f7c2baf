// Individual copies side by side: seven streams, forked from the caller's and joined to it again.
//
// The fork (an event on the caller's stream that every side stream waits for) orders the copies after the
// work that produced their sources; the join (an event on each side stream that the caller's waits for)
// orders later work after the copies. Both happen on the device: the host never waits, and a capture turns
// them into edges of the graph. There are as many launches as before, and the events in addition.
#include <cuda_runtime.h>

#include <algorithm>

#include "copy_batch.cuh"
#include "single_copy.cuh"

constexpr int kStreams = 7;

// Made on first use and kept: creating a stream takes longer than all copies together.
struct SideStreams {
  cudaStream_t streams[kStreams] = {};
  cudaEvent_t copied[kStreams] = {};
  cudaEvent_t begun = nullptr;
  cudaError_t error = cudaSuccess;

  SideStreams() {
    error = cudaEventCreateWithFlags(&begun, cudaEventDisableTiming);
    for (int i = 0; i < kStreams && error == cudaSuccess; ++i) {
      error = cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking);
      if (error == cudaSuccess) error = cudaEventCreateWithFlags(&copied[i], cudaEventDisableTiming);
    }
  }
};

SideStreams& side() {
  static SideStreams only;
  return only;
}

extern "C" int batched_copy(const CopyDescriptor* descriptors, int count, cudaStream_t stream) {
  if (const cudaError_t error = check_copies(descriptors, count)) return error;
  if (side().error != cudaSuccess) return side().error;
  if (const cudaError_t error = cudaEventRecord(side().begun, stream)) return error;
  const int used = std::min(count, kStreams);
  for (int i = 0; i < used; ++i) {
    if (const cudaError_t error = cudaStreamWaitEvent(side().streams[i], side().begun)) return error;
  }
  for (int i = 0; i < count; ++i) {
    if (is_empty(descriptors[i])) continue;
    if (const cudaError_t error = copy_one(descriptors[i], side().streams[i % kStreams])) return error;
  }
  for (int i = 0; i < used; ++i) {
    if (const cudaError_t error = cudaEventRecord(side().copied[i], side().streams[i])) return error;
    if (const cudaError_t error = cudaStreamWaitEvent(stream, side().copied[i])) return error;
  }
  return cudaSuccess;
}
