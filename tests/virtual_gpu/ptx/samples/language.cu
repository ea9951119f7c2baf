// What C++ itself needs from PTX: initialised data of every kind, calls, tables, recursion, printf, assert,
// switch.
#include <cassert>
#include <cstdio>

struct Record {
  char tag;
  int count;
  double weight;
  int* where;
  float values[3];
};
struct Big {
  int words[20];
};

__constant__ float floats[16] = {1, 2, 3.5f, -4};
__constant__ int matrix[3][4] = {{1, 2}, {3}, {4, 5, 6, 7}};
__constant__ double doubles[2] = {1.5, -0.0};
__device__ int numbers[8] = {1, 2, 3};
__device__ int* into_numbers = numbers + 2;
__device__ const int* pointers[3] = {numbers, numbers + 1, nullptr};
__device__ short small = -3;
__device__ const char* text = "literal";
__managed__ int managed = 7;
__device__ Record record = {1, 2, 3.0, numbers + 1, {1, 2, 3}};
__constant__ Record records[2] = {{1, 2, 3.0, numbers + 1, {1, 2, 3}}, {4, 5, 6, nullptr, {}}};

__device__ float twice(float x) {
  return x * 2;
}
__device__ __noinline__ float grown(float x) {
  return sinf(x) + expf(x);
}
__device__ float (*table[2])(float) = {twice, grown};

__device__ __noinline__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
__device__ __noinline__ Big changed(Big big, double value, char at) {
  big.words[at] = static_cast<int>(value);
  return big;
}

struct Shape {
  __device__ virtual int area(int) = 0;
};
struct Square : Shape {
  int side;
  __device__ int area(int scale) override { return side * side * scale; }
};
struct Dot : Shape {
  __device__ int area(int scale) override { return scale; }
};

__global__ void data(int* p, int i) {
  p[0] = *into_numbers + managed + record.count + records[i].count + matrix[i][1] + *pointers[i] + text[i] +
         small;
  p[1] = static_cast<int>(floats[i] + doubles[i & 1]);
}

__global__ void calls(float* f, int* p, Big* big, int i) {
  f[0] = table[i](f[1]);
  p[0] = fibonacci(i);
  int local[64];
  for (int j = 0; j < 64; ++j) local[j] = big->words[j % 20];
  local[i] = 5;
  *big = changed(*big, local[i * 2 % 64], i);
  Shape* shape = i ? static_cast<Shape*>(new Square()) : static_cast<Shape*>(new Dot());
  p[1] = shape->area(i);
  delete shape;
}

__global__ void messages(int i) {
  printf("%d %f %s\n", i, 1.0 * i, text);
  assert(i < 3);
  if (i == 2) __trap();
}

__global__ void __launch_bounds__(256, 2) choices(int* p, int which) {
  switch (which) {
    case 0:
      p[0] = 1;
      break;
    case 1:
      p[1] += 5;
      break;
    case 2:
      p[2] *= 3;
      break;
    case 3:
      p[0] ^= p[1];
      break;
    case 4:
      p[5] = __ldg(p);
      break;
    case 5:
      p[5] = atomicAdd(p, 1);
      break;
    case 6:
      __threadfence();
      break;
    default:
      p[0] = static_cast<int>(clock64());
  }
}

__global__ void __maxnreg__(64)
    shared_and_params(const Big in, Big* out, const __grid_constant__ Big constant) {
  extern __shared__ double dynamic[];
  __shared__ int fixed[4][5];
  out[0] = in;
  dynamic[threadIdx.x] = in.words[threadIdx.x] + constant.words[threadIdx.x];
  fixed[threadIdx.x % 4][1] = threadIdx.x;
  __syncthreads();
  out[1].words[0] = static_cast<int>(dynamic[0]) + fixed[1][2];
}

__global__ void warp(unsigned* p) {
  int all;
  p[0] =
      __shfl_xor_sync(~0u, p[0], 1) + __ballot_sync(~0u, p[1] > 0) + __match_all_sync(~0u, p[2], &all) + all;
  asm volatile(
      "{ .reg .b32 a<4>; .reg .f32 f, g; mov.u32 a1, 0b1011; mov.u32 a2, 017; mov.f32 f, 1.5; mov.f32 g, "
      "1.5e3;"
      " add.u32 a0, a1, a2; st.global.u32 [%0+-4], a0; }" ::"l"(p));
}
