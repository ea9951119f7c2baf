// Kernels that are odd but allowed, or wrong in ways that must not hurt the engine: wild format strings, bad
// function pointers, many registers, a great many instructions.
#include <cstdint>
#include <vector>

#include "hostile.cuh"

__device__ char not_terminated[8] = {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'};

__global__ void garbage_formats(const char* from_device) {
  const void* none = nullptr;
  printf("plain %d %s %c\n", 5, "text", 'x');
  printf("percent at the end %");
  printf("\nunknown %y %q %! and more\n");
  printf("%s|%s|%s\n", static_cast<const char*>(none), reinterpret_cast<const char*>(uintptr_t{0xdeadbeef}),
         reinterpret_cast<const char*>(~uintptr_t{0}));
  printf("%n\n", reinterpret_cast<int*>(uintptr_t{16}));
  printf("%d %d %d %d without arguments\n");
  printf("%999999999d|\n", 1);
  printf("%.999999999f|\n", 1.0);
  printf("%*d|%.*f|%-*d|\n", 100000000, 1, -5, 2.5, -7, 3);
  printf("%0000000000000000000000000000000000000000000000000000000000000000000000000000000000000005d|\n", 9);
  printf("%s\n", from_device);
  printf("%.8s\n", not_terminated);
  char local[8] = "local";
  local[0] = static_cast<char>('k' + threadIdx.x);
  printf("%s\n", local);
}

__device__ __noinline__ int one(int x) {
  return x + 1;
}
__device__ __noinline__ int two(int x, int y, int z) {
  return x + y + z;
}
using One = int (*)(int);
using Two = int (*)(int, int, int);
__device__ One table[2] = {one, one};
__device__ Two other_table[1] = {two};

__global__ void call_through(One function, int* out) {
  out[threadIdx.x] = table[threadIdx.x % 2](1) + function(2);
}

__global__ void call_wrong_signature(int* out) {
  out[threadIdx.x] = reinterpret_cast<One>(other_table[0])(1) + table[0](1);
}

template <int N>
__global__ void many_registers(const float* in, float* out) {
  float value[N];
#pragma unroll
  for (int i = 0; i < N; ++i) value[i] = in[(threadIdx.x + i) % 32];
#pragma unroll
  for (int round = 0; round < 3; ++round) {
#pragma unroll
    for (int i = 0; i < N; ++i) value[i] = value[i] * value[(i * 7 + round) % N] + 1.0f;
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < N; ++i) sum += value[i];
  out[threadIdx.x] = sum;
}

template <int N>
float many_registers_on_host(const float* in, int thread) {
  float value[N];
  for (int i = 0; i < N; ++i) value[i] = in[(thread + i) % 32];
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < N; ++i) value[i] = __builtin_fmaf(value[i], value[(i * 7 + round) % N], 1.0f);
  float sum = 0;
  for (int i = 0; i < N; ++i) sum += value[i];
  return sum;
}

#define TIMES_10(x) x x x x x x x x x x
#define STEP                                                                                         \
  "xor.b32 %0, %0, 305419896; add.u32 %0, %0, 77; shf.l.wrap.b32 %0, %0, %0, 5; mul.lo.u32 %0, %0, " \
  "2654435761;\n"
__global__ void many_instructions(unsigned* out) {
  unsigned x = threadIdx.x;
#define BLOCK asm volatile(TIMES_10(TIMES_10(TIMES_10(STEP))) : "+r"(x));
  TIMES_10(BLOCK) TIMES_10(BLOCK) BLOCK BLOCK BLOCK BLOCK BLOCK out[threadIdx.x] = x;
}

unsigned many_instructions_on_host(unsigned x) {
  for (int i = 0; i < 25'000; ++i) {
    x = (x ^ 305419896u) + 77u;
    x = (x << 5) | (x >> 27);
    x *= 2654435761u;
  }
  return x;
}

template <typename T>
T* device_memory(size_t count) {
  T* memory = nullptr;
  cudaMalloc(&memory, count * sizeof(T));
  cudaMemset(memory, 0, count * sizeof(T));
  return memory;
}

void formats() {
  char* text = device_memory<char>(6000);
  cudaMemset(text, 'z', 6000);
  garbage_formats<<<1, 1>>>(text);
  say_launch("formats");
}

void null_function() {
  call_through<<<1, 32>>>(nullptr, device_memory<int>(32));
  say_launch("null function");
}

int host_function(int x) {
  return x;
}

void host_function_pointer() {
  call_through<<<1, 32>>>(host_function, device_memory<int>(32));
  say_launch("host function");
}

void wrong_signature() {
  call_wrong_signature<<<1, 32>>>(device_memory<int>(32));
  say_launch("wrong signature");
}

void registers() {
  std::vector<float> in(32), out(32);
  for (int i = 0; i < 32; ++i) in[i] = 0.01f * static_cast<float>(i);
  float* device_in = device_memory<float>(32);
  float* device_out = device_memory<float>(32);
  cudaMemcpy(device_in, in.data(), 128, cudaMemcpyHostToDevice);
  many_registers<300><<<1, 32>>>(device_in, device_out);
  say_launch("registers");
  cudaMemcpy(out.data(), device_out, 128, cudaMemcpyDeviceToHost);
  bool same = true;
  for (int i = 0; i < 32; ++i) same &= out[i] == many_registers_on_host<300>(in.data(), i);
  std::printf("results %s\n", same ? "agree" : "differ");
}

void instructions() {
  unsigned* out = device_memory<unsigned>(32);
  many_instructions<<<1, 32>>>(out);
  say_launch("instructions");
  unsigned got[32];
  cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
  bool same = true;
  for (unsigned i = 0; i < 32; ++i) same &= got[i] == many_instructions_on_host(i);
  std::printf("results %s\n", same ? "agree" : "differ");
}

const Case kCases[] = {
    {"formats", formats},
    {"null_function", null_function},
    {"host_function", host_function_pointer},
    {"wrong_signature", wrong_signature},
    {"registers", registers},
    {"instructions", instructions},
};

int main(int count, char** arguments) {
  return run_cases(count, arguments, kCases);
}
