// What only registers hold: the scores and weights that kernel.cu, beside this file, computes. FLASH_DEBUG
// adds flash_attention_debug() to it, which writes them down.
//
//     ./course run work/05_flash_attention/scores.cu -I common/cuda
//
// A head of kLength rows whose queries and keys are ones and zeros, so that every score is known: row r and
// key k share as many ones as the smaller of r and k. Change the inputs as you like.
#define FLASH_DEBUG 1
#include <cstdio>

#include "kernel.cu"

constexpr int kLength = 8, kDim = 64;

template <typename T>
T* managed(int count) {
  T* memory = nullptr;
  cudaMallocManaged(&memory, count * sizeof(T));
  return memory;
}

void print(const char* name, const float* table) {
  printf("%s, a row for each query, a column for each key\n", name);
  for (int row = 0; row < kLength; ++row) {
    for (int key = 0; key < kLength; ++key) printf("%8.3f", table[row * kLength + key]);
    printf("\n");
  }
}

int main() {
  constexpr int kElements = kLength * kDim;
  __half *queries = managed<__half>(kElements), *keys = managed<__half>(kElements),
         *values = managed<__half>(kElements), *out = managed<__half>(kElements);
  auto *scores = managed<float>(kLength * kLength), *weights = managed<float>(kLength * kLength);
  for (int i = 0; i < kElements; ++i) {
    const int row = i / kDim, element = i % kDim;
    queries[i] = keys[i] = __float2half(element < row ? 1 : 0);
    values[i] = __float2half(row);
  }
  const Strides rows{kElements, kElements, kDim};
  const Strides strides[4] = {rows, rows, rows, rows};
  const int error = flash_attention_debug(queries, keys, values, out, strides, 1, 1, kLength, kDim, 1.0f, 0,
                                          scores, weights, nullptr);
  cudaDeviceSynchronize();
  printf("returned %d (%s)\n", error, cudaGetErrorString(static_cast<cudaError_t>(error)));
  print("scores, before they are scaled", scores);
  print("weights, relative to the highest score of their tile", weights);
  for (void* memory : {static_cast<void*>(queries), static_cast<void*>(keys), static_cast<void*>(values),
                       static_cast<void*>(out), static_cast<void*>(scores), static_cast<void*>(weights)}) {
    cudaFree(memory);
  }
  return error;
}
