// Captured calls leave their rows in memory that the device can read, and the first one's kernel copies all.
#include "rows.h"

struct Noted {
  int count;
  Row row[256];
};

__global__ void copy_all(const Noted* noted) {
  for (int r = blockIdx.x; r < noted->count; r += gridDim.x) {
    const Row row = noted->row[r];
    for (int64_t i = threadIdx.x; i < row.count; i += blockDim.x) row.target[i] = row.source[i];
  }
}

extern "C" int copy_many(const Row* table, int rows, cudaStream_t stream) {
  static Noted* noted = nullptr;
  if (noted == nullptr) cudaMallocHost(&noted, sizeof(Noted));
  if (!is_captured(stream)) {
    noted->count = 0;
    return copy_on(table, rows, stream);
  }
  const bool first = noted->count == 0;
  for (int i = 0; i < rows; ++i) noted->row[noted->count++] = table[i];
  if (first) copy_all<<<64, 256, 0, stream>>>(noted);
  return cudaGetLastError();
}
