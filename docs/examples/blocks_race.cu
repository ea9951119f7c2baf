// Blocks add to one number without an atomic. Found with `--checks global_race`.
#include <cstdio>

__global__ void count_blocks(int* count) {
  if (threadIdx.x == 0) *count = *count + 1;
}

int main() {
  int* count;
  cudaMalloc(&count, sizeof(int));
  cudaMemset(count, 0, sizeof(int));
  count_blocks<<<64, 32>>>(count);
  int host = 0;
  cudaMemcpy(&host, count, sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d of 64\n", host);
  cudaFree(count);
}
