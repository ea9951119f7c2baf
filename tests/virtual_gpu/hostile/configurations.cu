// Launch configurations, allocations and sizes beyond reason. Every case prints what the calls answered.
#include <climits>
#include <cstdint>
#include <string>
#include <vector>

#include "hostile.cuh"

__global__ void touch(unsigned char* byte) {
  if (byte != nullptr && blockIdx.x == 0 && threadIdx.x == 0) *byte = 7;
}

__global__ void static_shared(int* out) {
  __shared__ int big[12 * 1024];
  big[threadIdx.x] = 1;
  if (out != nullptr) *out = big[threadIdx.x];
}

__global__ void with_dynamic_shared(int* out) {
  extern __shared__ int dynamic[];
  dynamic[threadIdx.x] = 1;
  if (out != nullptr) *out = dynamic[threadIdx.x];
}

__global__ void __launch_bounds__(64) bounded() {}

__global__ void huge_local(int* out, int at) {
  int local[100 * 1024];
  for (int i = 0; i < 8; ++i) local[(at + i) % (100 * 1024)] = i;
  *out = local[(at + 3) % (100 * 1024)];
}

__global__ void absurd_local(int* out, int at) {
  int local[300 * 1024 * 1024];
  local[at] = 5;
  local[at + 1] = 6;
  *out = local[at + *out];
}

__global__ void append(int* out, int value) {
  out[value % 100] = value;
}

void shapes() {
  const struct {
    const char* name;
    dim3 grid, block;
  } kShapes[] = {
      {"no threads", dim3(1), dim3(0)},
      {"no blocks", dim3(0), dim3(1)},
      {"1025 threads", dim3(1), dim3(1025)},
      {"32x33 threads", dim3(1), dim3(32, 33)},
      {"65 deep", dim3(1), dim3(1, 1, 65)},
      {"2^31 blocks", dim3(1u << 31), dim3(1)},
      {"65536 rows", dim3(1, 65536), dim3(1)},
      {"65536 layers", dim3(1, 1, 65536), dim3(1)},
      {"all ones", dim3(UINT_MAX, UINT_MAX, UINT_MAX), dim3(UINT_MAX, UINT_MAX, UINT_MAX)},
      {"overflowing", dim3(1u << 31, 1u << 31, 4), dim3(1u << 16, 1u << 16, 2)},
      {"fine", dim3(1), dim3(1024)},
  };
  for (const auto& shape : kShapes) {
    touch<<<shape.grid, shape.block>>>(nullptr);
    say_launch(shape.name);
  }
  bounded<<<1, 65>>>();
  say_launch("above the launch bounds");
}

void shared() {
  with_dynamic_shared<<<1, 32, 48 * 1024 + 4>>>(nullptr);
  say_launch("48 KB + 4");
  say("opt in 227 KB",
      cudaFuncSetAttribute(with_dynamic_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024));
  with_dynamic_shared<<<1, 32, 227 * 1024>>>(nullptr);
  say_launch("227 KB");
  with_dynamic_shared<<<1, 32, 227 * 1024 + 4>>>(nullptr);
  say_launch("227 KB + 4");
  say("opt in 228 KB",
      cudaFuncSetAttribute(with_dynamic_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 228 * 1024));
  say("opt in -1",
      cudaFuncSetAttribute(with_dynamic_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, -1));
  with_dynamic_shared<<<1, 32, SIZE_MAX>>>(nullptr);
  say_launch("SIZE_MAX");
  with_dynamic_shared<<<1, 32, (1ull << 32) + 128>>>(nullptr);
  say_launch("2^32 + 128");
  static_shared<<<1, 32, 48 * 1024>>>(nullptr);
  say_launch("48 KB twice");
}

void cluster() {
  unsigned char* memory = nullptr;
  cudaMalloc(&memory, 1);
  for (const unsigned size : {2u, 3u, 17u, 0u}) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = size;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(4);
    config.blockDim = dim3(32);
    config.attrs = &attribute;
    config.numAttrs = 1;
    const cudaError_t refused = cudaLaunchKernelEx(&config, touch, memory);
    const std::string name = "clusters of " + std::to_string(size);
    say(name.c_str(), refused != cudaSuccess ? refused : cudaDeviceSynchronize());
    cudaGetLastError();
  }
  cudaFree(memory);
}

__global__ void __cluster_dims__(2, 1, 1) built_for_clusters(unsigned char* memory) {
  memory[blockIdx.x] = 1;
}

void cluster_dims() {
  unsigned char* memory = nullptr;
  cudaMalloc(&memory, 4);
  built_for_clusters<<<4, 32>>>(memory);
  say_launch("cluster_dims");
  cudaFree(memory);
}

void allocate(const char* name, size_t bytes) {
  unsigned char* memory = nullptr;
  if (say(name, cudaMalloc(&memory, bytes)) != cudaSuccess) return;
  touch<<<1, 1>>>(memory);
  say_launch("its first byte");
  touch<<<1, 1>>>(memory + bytes - 1);
  say_launch("its last byte");
  unsigned char back = 0;
  say("copy back", cudaMemcpy(&back, memory + bytes - 1, 1, cudaMemcpyDeviceToHost));
  std::printf("read %d\n", back);
  say("free", cudaFree(memory));
}

void big_allocations() {
  allocate("10 GB", 10'000'000'000);
  allocate("100 GB", 100'000'000'000);
  allocate("SIZE_MAX", SIZE_MAX);
  allocate("SIZE_MAX - 255", SIZE_MAX - 255);
  allocate("2^63", size_t{1} << 63);
  void* host = nullptr;
  say("100 GB pinned", cudaMallocHost(&host, 100'000'000'000));
  say("100 TB managed", cudaMallocManaged(&host, 100'000'000'000'000));
  say("100 GB async", cudaMallocAsync(&host, 100'000'000'000, nullptr));
  size_t pitch = 0;
  say("pitch", cudaMallocPitch(&host, &pitch, size_t{1} << 40, size_t{1} << 40));
}

// Set and touch until there is no more: the engine must refuse before the machine does.
void allocate_for_ever() {
  long long count = 0;
  void* memory = nullptr;
  cudaError_t error = cudaSuccess;
  while ((error = cudaMalloc(&memory, size_t{1} << 30)) == cudaSuccess && count < 1'000'000) ++count;
  say("1 GB for ever", error);
  count = 0;
  while ((error = cudaMalloc(&memory, 1)) == cudaSuccess && count < 20'000) ++count;
  std::printf("then %lld of 1 byte: %s\n", count, cudaGetErrorName(error));
}

void touch_all() {
  size_t free_bytes = 0, total = 0;
  cudaMemGetInfo(&free_bytes, &total);
  std::printf("free %zu MB of %zu MB\n", free_bytes >> 20, total >> 20);
  cudaError_t error = cudaSuccess;
  void* memory = nullptr;
  while ((error = cudaMalloc(&memory, size_t{1} << 28)) == cudaSuccess) {
    if ((error = cudaMemset(memory, 1, size_t{1} << 28)) != cudaSuccess) break;
  }
  say("touch all", error);
}

void local_arrays() {
  int* out = nullptr;
  cudaMalloc(&out, sizeof *out);
  cudaMemset(out, 0, sizeof *out);
  huge_local<<<2, 64>>>(out, 77);
  say_launch("400 KB of local memory");
  absurd_local<<<1, 32>>>(out, 77);
  say_launch("1.2 GB of local memory");
}

void many_streams() {
  std::vector<cudaStream_t> streams(1000);
  int* out = nullptr;
  cudaMalloc(&out, 100 * sizeof *out);
  cudaError_t error = cudaSuccess;
  for (cudaStream_t& stream : streams)
    if (error == cudaSuccess) error = cudaStreamCreate(&stream);
  for (size_t i = 0; i < streams.size(); ++i) append<<<1, 1, 0, streams[i]>>>(out, static_cast<int>(i));
  say("1000 streams", error == cudaSuccess ? cudaDeviceSynchronize() : error);
  for (cudaStream_t stream : streams) cudaStreamDestroy(stream);
  cudaFree(out);
}

void many_launches() {
  int* out = nullptr;
  cudaMalloc(&out, 100 * sizeof *out);
  for (int i = 0; i < 10'000; ++i) append<<<1, 32>>>(out, i);
  say_launch("10000 launches");
  int last = 0;
  cudaMemcpy(&last, out + 99, sizeof last, cudaMemcpyDeviceToHost);
  std::printf("last %d\n", last);
  cudaFree(out);
}

const Case kCases[] = {
    {"shapes", shapes},
    {"shared", shared},
    {"cluster", cluster},
    {"cluster_dims", cluster_dims},
    {"big_allocations", big_allocations},
    {"allocate_for_ever", allocate_for_ever},
    {"touch_all", touch_all},
    {"local_arrays", local_arrays},
    {"many_streams", many_streams},
    {"many_launches", many_launches},
};

int main(int count, char** arguments) {
  return run_cases(count, arguments, kCases);
}
