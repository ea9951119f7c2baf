// What a server does around the copies: it produces what they copy, on the same stream, and it captures them.
// Built together with a kernel under test.
#include <cuda_runtime.h>

#include "copy_batch.cuh"

extern "C" int batched_copy(const CopyDescriptor* descriptors, int count, cudaStream_t stream);

__global__ void produce(const int* from, int* to, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[i];
}

// Sources first, then the batch, on one stream that nothing else is ordered with.
extern "C" int produce_and_copy(const int* fresh, int* source, int elements,
                                const CopyDescriptor* descriptors, int count) {
  cudaStream_t stream;
  if (const cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)) return error;
  produce<<<(elements + 255) / 256, 256, 0, stream>>>(fresh, source, elements);
  if (const int error = batched_copy(descriptors, count, stream)) return error;
  if (const cudaError_t error = cudaStreamSynchronize(stream)) return error;
  return cudaStreamDestroy(stream);
}

// Captures the batch and replays it `replays` times; the descriptors are gone before the first replay.
extern "C" int capture_and_replay(CopyDescriptor* descriptors, int count, int replays) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  if (const cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)) return error;
  if (const cudaError_t error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal)) return error;
  const int answer = batched_copy(descriptors, count, stream);
  if (const cudaError_t error = cudaStreamEndCapture(stream, &graph)) return error;
  if (answer != cudaSuccess) return answer;
  for (int i = 0; i < count; ++i) descriptors[i] = {};
  if (const cudaError_t error = cudaGraphInstantiate(&ready, graph, 0)) return error;
  for (int i = 0; i < replays; ++i) {
    if (const cudaError_t error = cudaGraphLaunch(ready, stream)) return error;
  }
  if (const cudaError_t error = cudaStreamSynchronize(stream)) return error;
  if (const cudaError_t error = cudaGraphExecDestroy(ready)) return error;
  if (const cudaError_t error = cudaGraphDestroy(graph)) return error;
  return cudaStreamDestroy(stream);
}
