// The last error: kept per host thread, read without clearing, cleared by reading; names and texts.
#include <string>
#include <thread>

#include "expect.cuh"

__global__ void spin(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

int main() {
  HOLDS(cudaGetLastError() == cudaSuccess);
  HOLDS(cudaMalloc(static_cast<void**>(nullptr), 4) == cudaErrorInvalidValue);
  HOLDS(cudaPeekAtLastError() == cudaErrorInvalidValue);
  std::thread([] {
    HOLDS(cudaPeekAtLastError() == cudaSuccess);
    HOLDS(cudaSetDevice(99) == cudaErrorInvalidDevice);
    HOLDS(cudaPeekAtLastError() == cudaErrorInvalidDevice);
  }).join();
  HOLDS(cudaDeviceSynchronize() == cudaSuccess);
  HOLDS(cudaPeekAtLastError() == cudaErrorInvalidValue);  // success does not clear it
  HOLDS(cudaGetLastError() == cudaErrorInvalidValue);
  HOLDS(cudaGetLastError() == cudaSuccess);

  cudaStream_t stream = nullptr;
  OK(cudaStreamCreate(&stream));
  spin<<<1, 1, 0, stream>>>(200000);
  HOLDS(cudaStreamQuery(stream) == cudaErrorNotReady);
  HOLDS(cudaPeekAtLastError() == cudaSuccess);  // not ready is an answer, not an error
  OK(cudaStreamSynchronize(stream));
  OK(cudaStreamQuery(stream));
  OK(cudaStreamDestroy(stream));

  HOLDS(std::string(cudaGetErrorName(cudaErrorInvalidValue)) == "cudaErrorInvalidValue");
  HOLDS(std::string(cudaGetErrorString(cudaErrorInvalidValue)) == "invalid argument");
  HOLDS(std::string(cudaGetErrorString(cudaSuccess)) == "no error");
  HOLDS(std::string(cudaGetErrorString(cudaErrorIllegalAddress)) ==
        "an illegal memory access was encountered");
  HOLDS(std::string(cudaGetErrorName(static_cast<cudaError_t>(12345))) == "unrecognized error code");
  HOLDS(std::string(cudaGetErrorString(static_cast<cudaError_t>(12345))) == "unrecognized error code");
  return finish();
}
