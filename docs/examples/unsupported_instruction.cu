// Reductions over several GPUs are not part of the virtual GPU: the launch is refused, by name and line.
#include <cstdio>

__global__ void add_everywhere(int* sum) {
  asm volatile("multimem.red.relaxed.sys.global.add.u32 [%0], 1;" ::"l"(sum) : "memory");
}

int main() {
  int* sum;
  cudaMalloc(&sum, sizeof(int));
  add_everywhere<<<1, 1>>>(sum);
  std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
  cudaFree(sum);
}
