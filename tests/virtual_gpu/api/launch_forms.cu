// Every way to launch a kernel gives it the same arguments: <<<>>>, cudaLaunchKernel by symbol and by handle,
// cudaLaunchKernelEx with attributes, cooperative launch; plain functions, templates and lambdas.
#include "expect.cuh"

struct Odd {  // a parameter whose size and alignment are not a register's
  char first;
  double second;
  short third[3];
};

__global__ void plain(int* out, char a, long long b, float c, Odd d) {
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    out[0] =
        a + static_cast<int>(b) + static_cast<int>(c) + d.first + static_cast<int>(d.second) + d.third[2];
    out[1] = static_cast<int>(gridDim.x * 1000 + blockDim.x);
  }
}

template <typename T, int kAdd>
__global__ void generic(T* out, T value) {
  out[threadIdx.x] = value + T(kAdd);
}

template <typename Function>
__global__ void apply(int* out, Function function) {
  out[threadIdx.x] = function(static_cast<int>(threadIdx.x));
}

__global__ void no_arguments() {}

namespace {

int* out = nullptr;

void check(int grid, int block) {
  int back[2] = {};
  OK(cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost));
  HOLDS(back[0] == 1 + 2000 + 3 + 4 + 5 + 8);
  HOLDS(back[1] == grid * 1000 + block);
  OK(cudaMemset(out, 0, sizeof back));
}

}  // namespace

int main() {
  OK(cudaMalloc(&out, 4096));
  OK(cudaMemset(out, 0, 4096));
  char a = 1;
  long long b = 2000;
  float c = 3.0f;
  Odd d{4, 5.0, {6, 7, 8}};
  void* arguments[] = {&out, &a, &b, &c, &d};

  plain<<<2, 32>>>(out, a, b, c, d);
  check(2, 32);
  OK(cudaLaunchKernel(plain, 3, 33, arguments, 0, nullptr));
  check(3, 33);
  cudaKernel_t kernel = nullptr;
  OK(cudaGetKernel(&kernel, plain));
  OK(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), 4, 34, arguments, 0, nullptr));
  check(4, 34);
  cudaFunction_t function = nullptr;
  OK(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(plain)));
  OK(cudaLaunchKernel(reinterpret_cast<const void*>(function), 5, 35, arguments, 0, nullptr));
  check(5, 35);
  OK(cudaLaunchCooperativeKernel(plain, 6, 36, arguments, 0, nullptr));
  check(6, 36);

  cudaLaunchConfig_t config{};
  config.gridDim = 7;
  config.blockDim = 37;
  OK(cudaLaunchKernelEx(&config, plain, out, a, b, c, d));
  check(7, 37);
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeCooperative;
  attributes[1].val.cooperative = 1;
  config.attrs = attributes;
  config.numAttrs = 2;
  config.gridDim = 8;
  OK(cudaLaunchKernelEx(&config, plain, out, a, b, c, d));
  check(8, 37);
  attributes[0].id = static_cast<cudaLaunchAttributeID>(77);
  GIVES(cudaErrorInvalidValue, cudaLaunchKernelEx(&config, plain, out, a, b, c, d));

  int back[8] = {};
  generic<int, 5><<<1, 8>>>(out, 10);
  OK(cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost));
  HOLDS(back[0] == 15 && back[7] == 15);
  double halves[8] = {};
  generic<double, 1><<<1, 8>>>(reinterpret_cast<double*>(out), 0.5);
  OK(cudaMemcpy(halves, out, sizeof halves, cudaMemcpyDeviceToHost));
  HOLDS(halves[0] == 1.5 && halves[7] == 1.5);
  const int base = 100;
  apply<<<1, 8>>>(out, [base] __device__(int i) { return base + i * i; });
  OK(cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost));
  HOLDS(back[0] == 100 && back[7] == 149);
  no_arguments<<<1, 1>>>();
  OK(cudaGetLastError());
  OK(cudaDeviceSynchronize());
  OK(cudaFree(out));
  return finish();
}
