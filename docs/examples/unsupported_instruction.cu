// Tensor memory copies (TMA) are not part of the virtual GPU: the launch is refused, by name and line.
#include <cstdio>

__global__ void wait_for_bulk_copies(int* done) {
  asm volatile("cp.async.bulk.commit_group;");
  asm volatile("cp.async.bulk.wait_group 0;");
  *done = 1;
}

int main() {
  int* done;
  cudaMalloc(&done, sizeof(int));
  wait_for_bulk_copies<<<1, 1>>>(done);
  std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
  cudaFree(done);
}
