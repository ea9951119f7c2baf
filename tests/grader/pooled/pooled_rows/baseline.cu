// One block for each row, and nothing of scratch or counters.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

struct Rows {
  const __half* values;
  float* out;
  int64_t groups;
};

constexpr int kLanes = 8;

__global__ void pool(Rows rows) {
  const __half* row = rows.values + blockIdx.x * rows.groups * kLanes;
  float sum = 0;
  for (int64_t g = 0; g < rows.groups; ++g) sum += __half2float(row[g * kLanes + threadIdx.x]);
  rows.out[blockIdx.x * kLanes + threadIdx.x] = sum;
}

extern "C" int pool_rows(const Rows* rows, float*, int*, int count, cudaStream_t stream) {
  pool<<<count, kLanes, 0, stream>>>(*rows);
  return cudaGetLastError();
}
