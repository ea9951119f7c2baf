// What stands between a kernel and its first instruction: one question per line, with the device's answer.
// Nothing here depends on memory that a kernel writes. A group of questions runs in a process of its own, so
// that an error that ends a context ends one group alone. On the virtual GPU it ends the program's session:
// there each group wants a run of its own.
//   nvcc -std=c++17 -arch=sm_90a -o what_starts what_starts.cu && ./what_starts [GROUP…]
#include <cuda.h>
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "answer.cuh"
#include "ptx_texts.cuh"

// --- Kernels
// -------------------------------------------------------------------------------------------------

__global__ void empty() {}

template <int Bytes>
__global__ void with_static(int* out) {
  extern __shared__ int dynamic[];
  __shared__ char fixed[Bytes];
  fixed[threadIdx.x] = static_cast<char>(threadIdx.x);
  __syncthreads();
  if (out != nullptr) *out = fixed[Bytes - 1 - threadIdx.x] + dynamic[threadIdx.x];
}

__global__ void __launch_bounds__(64) at_most_64() {}
__global__ void __block_size__((64, 1, 1)) just_64() {}
__global__ void __launch_bounds__(64, 1, 4) clusters_up_to_4() {}
__global__ void __cluster_dims__(2, 1, 1) in_pairs() {}
__global__ void __cluster_dims__(4, 4, 1) in_sixteens() {}

// Each thread waits for its value until all have been loaded, so that all of them need a register.
__global__ void many_registers(float* out) {
  if (out == nullptr) return;
  volatile float* in = out;
  float held[120];
#pragma unroll
  for (int i = 0; i < 120; ++i) held[i] = in[i];
#pragma unroll
  for (int i = 0; i < 120; ++i) in[i] = held[119 - i];
}

template <int Bytes>
__global__ void with_local(int* out, int at) {
  volatile char local[Bytes];
  for (int i = 0; i < 4; ++i) local[(at + i * 977) % Bytes] = static_cast<char>(i);
  if (out != nullptr) *out = local[at % Bytes];
}

__device__ __noinline__ int deep(int depth, int at) {
  volatile int frame[64];
  frame[at & 63] = depth;
  const int below = depth > 0 ? deep(depth - 1, at + 1) : 0;
  return below + frame[at & 63];
}

__global__ void recursive(int* out, int depth) {
  const int sum = deep(depth, threadIdx.x);
  if (out != nullptr) *out = sum;
}

template <int Bytes>
struct Parameter {
  char bytes[Bytes];
};
template <int Bytes>
__global__ void with_parameter(const __grid_constant__ Parameter<Bytes> parameter) {}

__global__ void prints(int times) {
  for (int i = 0; i < times; ++i) printf("");
}

// --- Asking
// --------------------------------------------------------------------------------------------------

cudaError_t ask(const char* question, cudaError_t error) {
  answer(question, cudaGetErrorName(error));
  cudaGetLastError();
  return error;
}

void number(const char* question, cudaError_t error, long long value) {
  answer(question, error == cudaSuccess ? std::to_string(value).c_str() : cudaGetErrorName(error));
  cudaGetLastError();
}

// Of a launch: what the call answered or, where it began, what became of it.
void launched(const char* question, cudaError_t refused = cudaGetLastError()) {
  if (refused != cudaSuccess) {
    ask(question, refused);
    return;
  }
  const cudaError_t after = cudaDeviceSynchronize();
  answer(question,
         after == cudaSuccess ? "runs" : (std::string("fails with ") + cudaGetErrorName(after)).c_str());
  cudaGetLastError();
}

cudaLaunchAttribute cluster_of(unsigned x, unsigned y = 1, unsigned z = 1) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = x;
  attribute.val.clusterDim.y = y;
  attribute.val.clusterDim.z = z;
  return attribute;
}

template <class... Parameters>
void extended(const char* question, void (*kernel)(Parameters...), dim3 grid, dim3 block,
              std::vector<cudaLaunchAttribute> attributes, size_t shared, Parameters... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.attrs = attributes.data();
  config.numAttrs = static_cast<unsigned>(attributes.size());
  launched(question, cudaLaunchKernelEx(&config, kernel, arguments...));
}

void plain_attribute(const char* question, cudaLaunchAttributeID id,
                     const std::function<void(cudaLaunchAttributeValue&)>& set) {
  cudaLaunchAttribute attribute{};
  attribute.id = id;
  set(attribute.val);
  extended(question, empty, dim3(8), dim3(32), {attribute}, 0);
}

// --- Questions
// -----------------------------------------------------------------------------------------------

void shapes() {
  const struct {
    const char* name;
    dim3 grid, block;
  } kShapes[] = {
      {"grid y 65535", dim3(1, 65535), dim3(1)},    {"grid y 65536", dim3(1, 65536), dim3(1)},
      {"grid z 65535", dim3(1, 1, 65535), dim3(1)}, {"grid z 65536", dim3(1, 1, 65536), dim3(1)},
      {"grid x 2^31", dim3(1u << 31), dim3(1)},     {"grid x 0", dim3(0), dim3(32)},
      {"block of 1024", dim3(1), dim3(1024)},       {"block of 1025", dim3(1), dim3(1025)},
      {"block of 32x33", dim3(1), dim3(32, 33)},    {"block of 1x1024", dim3(1), dim3(1, 1024)},
      {"block of 1x1025", dim3(1), dim3(1, 1025)},  {"block of 1x1x64", dim3(1), dim3(1, 1, 64)},
      {"block of 1x1x65", dim3(1), dim3(1, 1, 65)}, {"block of 0", dim3(1), dim3(0)},
  };
  for (const auto& shape : kShapes) {
    empty<<<shape.grid, shape.block>>>();
    launched(shape.name);
  }
  at_most_64<<<1, 64>>>();
  launched("64 threads with __launch_bounds__(64)");
  at_most_64<<<1, 65>>>();
  launched("65 threads with __launch_bounds__(64)");
  just_64<<<1, 64>>>();
  launched("64 threads with __block_size__((64))");
  just_64<<<1, 32>>>();
  launched("32 threads with __block_size__((64))");
  just_64<<<1, dim3(8, 8)>>>();
  launched("8x8 threads with __block_size__((64))");
  just_64<<<1, 128>>>();
  launched("128 threads with __block_size__((64))");
  many_registers<<<1, 256>>>(nullptr);
  launched("256 threads with over 120 registers");
  many_registers<<<1, 1024>>>(nullptr);
  launched("1024 threads with over 120 registers");
  int blocks = -1;
  cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, many_registers, 1024, 0);
  number("occupancy of 1024 threads with over 120 registers", error, blocks);
  cudaFuncAttributes attributes{};
  error = cudaFuncGetAttributes(&attributes, many_registers);
  number("maxThreadsPerBlock with over 120 registers", error, attributes.maxThreadsPerBlock);
}

template <int Fixed>
void beside(const char* fixed_name) {
  constexpr int kUsual = 48 << 10;
  const auto kernel = with_static<Fixed>;
  const std::string before = std::string("static ") + fixed_name;
  const auto said = [&](const char* what) { return before + ", " + what; };
  cudaFuncAttributes attributes{};
  cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
  number(said("sharedSizeBytes").c_str(), error, static_cast<long long>(attributes.sharedSizeBytes));
  number(said("maxDynamicSharedSizeBytes").c_str(), error, attributes.maxDynamicSharedSizeBytes);
  const struct {
    const char* name;
    int bytes;
  } kDynamic[] = {
      {"dynamic 4 bytes", 4},
      {"dynamic up to 48 KB in all", kUsual - Fixed},
      {"dynamic up to 48 KB + 1 in all", kUsual - Fixed + 1},
      {"dynamic up to 48 KB + 128 in all", kUsual - Fixed + 128},
      {"dynamic 48 KB", kUsual},
      {"dynamic 48 KB + 1", kUsual + 1},
  };
  for (const auto& one : kDynamic) {
    kernel<<<1, 32, one.bytes>>>(nullptr);
    launched(said(one.name).c_str());
  }
  const auto allow = [&](const char* what, int bytes) {
    return ask(said(what).c_str(),
               cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  };
  allow("allow 227 KB + 1 in all", (227 << 10) - Fixed + 1);
  allow("allow 1 KB", 1 << 10);
  error = cudaFuncGetAttributes(&attributes, kernel);
  number(said("then maxDynamicSharedSizeBytes").c_str(), error, attributes.maxDynamicSharedSizeBytes);
  kernel<<<1, 32, 1024>>>(nullptr);
  launched(said("then dynamic 1 KB").c_str());
  kernel<<<1, 32, 1025>>>(nullptr);
  launched(said("then dynamic 1 KB + 1").c_str());
  allow("allow 48 KB", kUsual);
  error = cudaFuncGetAttributes(&attributes, kernel);
  number(said("then maxDynamicSharedSizeBytes").c_str(), error, attributes.maxDynamicSharedSizeBytes);
  kernel<<<1, 32, kUsual>>>(nullptr);
  launched(said("then dynamic 48 KB").c_str());
  allow("allow 227 KB in all", (227 << 10) - Fixed);
  kernel<<<1, 32, (227 << 10) - Fixed>>>(nullptr);
  launched(said("then dynamic up to 227 KB in all").c_str());
  kernel<<<1, 32, (227 << 10) - Fixed + 1>>>(nullptr);
  launched(said("then dynamic up to 227 KB + 1 in all").c_str());
  allow("allow -1", -1);
  allow("allow -2", -2);
  int blocks = -1;
  error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 32, (227 << 10) - Fixed + 1);
  number(said("occupancy with 227 KB + 1 in all").c_str(), error, blocks);
  for (const int carveout : {-2, -1, 0, 100, 101})
    ask(said(("carveout " + std::to_string(carveout)).c_str()).c_str(),
        cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, carveout));
}

void shared_memory() {
  beside<1024>("1 KB");
  beside<(16 << 10)>("16 KB");
  beside<(48 << 10) - 128>("48 KB - 128");
  beside<(48 << 10)>("48 KB");
}

void clusters() {
  const struct {
    const char* name;
    dim3 cluster, grid;
  } kClusters[] = {
      {"clusters of 1", dim3(1), dim3(8)},
      {"clusters of 2", dim3(2), dim3(8)},
      {"clusters of 3 in a grid of 8", dim3(3), dim3(8)},
      {"clusters of 3 in a grid of 9", dim3(3), dim3(9)},
      {"clusters of 7", dim3(7), dim3(14)},
      {"clusters of 8", dim3(8), dim3(16)},
      {"clusters of 9", dim3(9), dim3(18)},
      {"clusters of 16", dim3(16), dim3(16)},
      {"clusters of 17", dim3(17), dim3(17)},
      {"clusters of 32", dim3(32), dim3(32)},
      {"clusters of 0", dim3(0), dim3(8)},
      {"clusters of 2x0", dim3(2, 0), dim3(8)},
      {"clusters of 0x0x0", dim3(0, 0, 0), dim3(8)},
      {"clusters of 2x2x2", dim3(2, 2, 2), dim3(2, 4, 6)},
      {"clusters of 2x2x2 in a grid of 2x4x5", dim3(2, 2, 2), dim3(2, 4, 5)},
      {"clusters of 2x2x4", dim3(2, 2, 4), dim3(2, 2, 4)},
      {"clusters of 1x8", dim3(1, 8), dim3(3, 8)},
      {"clusters of 8 in a grid of 4", dim3(8), dim3(4)},
  };
  const auto all = [&](const char* suffix) {
    for (const auto& one : kClusters)
      extended((one.name + std::string(suffix)).c_str(), empty, one.grid, dim3(32),
               {cluster_of(one.cluster.x, one.cluster.y, one.cluster.z)}, 0);
  };
  all("");
  ask("allow clusters that are not portable",
      cudaFuncSetAttribute(empty, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  all(", not portable ones allowed");
  ask("NonPortableClusterSizeAllowed 2",
      cudaFuncSetAttribute(empty, cudaFuncAttributeNonPortableClusterSizeAllowed, 2));
  ask("NonPortableClusterSizeAllowed 0",
      cudaFuncSetAttribute(empty, cudaFuncAttributeNonPortableClusterSizeAllowed, 0));
  extended("clusters of 16 after that", empty, dim3(16), dim3(32), {cluster_of(16)}, 0);
  extended("clusters of 2, then of 4, in a grid of 6", empty, dim3(6), dim3(32),
           {cluster_of(2), cluster_of(4)}, 0);
}

void clusters_built_in() {
  in_pairs<<<4, 32>>>();
  launched("__cluster_dims__(2), a grid of 4");
  in_pairs<<<3, 32>>>();
  launched("__cluster_dims__(2), a grid of 3");
  for (const unsigned size : {0u, 1u, 2u, 4u})
    extended(("__cluster_dims__(2), launched with clusters of " + std::to_string(size)).c_str(), in_pairs,
             dim3(8), dim3(32), {cluster_of(size)}, 0);
  extended("__cluster_dims__(2), launched with clusters of 1x2", in_pairs, dim3(8, 2), dim3(32),
           {cluster_of(1, 2)}, 0);
  in_sixteens<<<dim3(4, 4), 32>>>();
  launched("__cluster_dims__(4, 4)");
  ask("allow it clusters that are not portable",
      cudaFuncSetAttribute(in_sixteens, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  in_sixteens<<<dim3(4, 4), 32>>>();
  launched("__cluster_dims__(4, 4), not portable ones allowed");
  clusters_up_to_4<<<8, 64>>>();
  launched("__launch_bounds__(64, 1, 4), no clusters");
  for (const unsigned size : {2u, 4u, 8u})
    extended(("__launch_bounds__(64, 1, 4), clusters of " + std::to_string(size)).c_str(), clusters_up_to_4,
             dim3(8), dim3(64), {cluster_of(size)}, 0);
  ask("require clusters of a width of 4",
      cudaFuncSetAttribute(empty, cudaFuncAttributeRequiredClusterWidth, 4));
  empty<<<8, 32>>>();
  launched("then a plain launch of 8 blocks");
  empty<<<6, 32>>>();
  launched("then a plain launch of 6 blocks");
  extended("then clusters of 2", empty, dim3(8), dim3(32), {cluster_of(2)}, 0);
  ask("require another width of a kernel with __cluster_dims__",
      cudaFuncSetAttribute(in_pairs, cudaFuncAttributeRequiredClusterWidth, 4));
  ask("ClusterDimMustBeSet 1", cudaFuncSetAttribute(at_most_64, cudaFuncAttributeClusterDimMustBeSet, 1));
  at_most_64<<<8, 32>>>();
  launched("then a plain launch");
}

void clusters_with_much() {
  const auto kernel = with_static<1024>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 225 << 10);
  cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  int* nothing = nullptr;
  for (const unsigned size : {1u, 2u, 4u, 8u, 16u})
    for (const unsigned threads : {32u, 1024u}) {
      const size_t shared = 225 << 10;
      const std::string name =
          "clusters of " + std::to_string(size) + ", 225 KB and " + std::to_string(threads) + " threads";
      cudaLaunchAttribute attribute = cluster_of(size);
      cudaLaunchConfig_t config{};
      config.gridDim = dim3(size * 4);
      config.blockDim = dim3(threads);
      config.dynamicSmemBytes = shared;
      config.attrs = &attribute;
      config.numAttrs = 1;
      int active = -1;
      const cudaError_t error = cudaOccupancyMaxActiveClusters(&active, kernel, &config);
      // How many fit differs between devices of one kind: whether any does is the question.
      answer((name + ", any active").c_str(), error != cudaSuccess ? cudaGetErrorName(error)
                                              : active > 0         ? "yes"
                                                                   : "no");
      cudaGetLastError();
      extended(name.c_str(), kernel, dim3(size * 4), dim3(threads), {attribute}, shared, nothing);
    }
  int most = -1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(16);
  config.blockDim = dim3(32);
  cudaError_t error = cudaOccupancyMaxPotentialClusterSize(&most, empty, &config);
  number("the largest cluster", error, most);
  cudaFuncSetAttribute(empty, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  error = cudaOccupancyMaxPotentialClusterSize(&most, empty, &config);
  number("the largest cluster, not portable ones allowed", error, most);
}

void attributes() {
  using Value = cudaLaunchAttributeValue;
  plain_attribute("attribute 999", static_cast<cudaLaunchAttributeID>(999), [](Value&) {});
  plain_attribute("ignored", cudaLaunchAttributeIgnore, [](Value&) {});
  for (const int policy : {0, 1, 2, 3, 99})
    plain_attribute(("cluster scheduling policy " + std::to_string(policy)).c_str(),
                    cudaLaunchAttributeClusterSchedulingPolicyPreference, [&](Value& value) {
                      value.clusterSchedulingPolicyPreference =
                          static_cast<cudaClusterSchedulingPolicy>(policy);
                    });
  for (const int serial : {0, 1, 2})
    plain_attribute(("programmatic stream serialization " + std::to_string(serial)).c_str(),
                    cudaLaunchAttributeProgrammaticStreamSerialization,
                    [&](Value& value) { value.programmaticStreamSerializationAllowed = serial; });
  for (const int priority : {-99, 0, 99})
    plain_attribute(("priority " + std::to_string(priority)).c_str(), cudaLaunchAttributePriority,
                    [&](Value& value) { value.priority = priority; });
  for (const int percent : {-2, -1, 50, 101})
    plain_attribute(("carveout of a launch " + std::to_string(percent)).c_str(),
                    cudaLaunchAttributePreferredSharedMemoryCarveout,
                    [&](Value& value) { value.sharedMemCarveout = static_cast<unsigned>(percent); });
  for (const int domain : {0, 1, 99})
    plain_attribute(
        ("memory domain " + std::to_string(domain)).c_str(), cudaLaunchAttributeMemSyncDomain,
        [&](Value& value) { value.memSyncDomain = static_cast<cudaLaunchMemSyncDomain>(domain); });
  for (const int map : {0, 1, 3, 4, 77})
    plain_attribute(
        ("memory domain map " + std::to_string(map)).c_str(), cudaLaunchAttributeMemSyncDomainMap,
        [&](Value& value) { value.memSyncDomainMap.default_ = value.memSyncDomainMap.remote = map; });
  for (const int policy : {0, 1, 3, 99})
    plain_attribute(("synchronization policy " + std::to_string(policy)).c_str(),
                    cudaLaunchAttributeSynchronizationPolicy,
                    [&](Value& value) { value.syncPolicy = static_cast<cudaSynchronizationPolicy>(policy); });
  for (const float ratio : {0.5f, 2.0f, -1.0f})
    plain_attribute(("access window of 0 bytes, ratio " + std::to_string(ratio)).c_str(),
                    cudaLaunchAttributeAccessPolicyWindow, [&](Value& value) {
                      value.accessPolicyWindow = {nullptr, 0, ratio, cudaAccessPropertyStreaming,
                                                  cudaAccessPropertyNormal};
                    });
  plain_attribute("access window of 2^40 bytes", cudaLaunchAttributeAccessPolicyWindow, [&](Value& value) {
    value.accessPolicyWindow = {nullptr, size_t{1} << 40, 1.0f, cudaAccessPropertyPersisting,
                                cudaAccessPropertyStreaming};
  });
  plain_attribute("no programmatic event", cudaLaunchAttributeProgrammaticEvent, [](Value&) {});
  plain_attribute("no launch completion event", cudaLaunchAttributeLaunchCompletionEvent, [](Value&) {});
  plain_attribute("device-updatable, outside a graph", cudaLaunchAttributeDeviceUpdatableKernelNode,
                  [](Value& value) { value.deviceUpdatableKernelNode.deviceUpdatable = 1; });
  plain_attribute("NVLink centric", cudaLaunchAttributeNvlinkUtilCentricScheduling,
                  [](Value& value) { value.nvlinkUtilCentricScheduling = 1; });
  plain_attribute("preferred clusters of 4 alone", cudaLaunchAttributePreferredClusterDimension,
                  [](Value& value) { value.preferredClusterDim = {4, 1, 1}; });
  cudaLaunchAttribute preferred{};
  preferred.id = cudaLaunchAttributePreferredClusterDimension;
  preferred.val.preferredClusterDim = {4, 1, 1};
  extended("clusters of 2, preferred of 4", empty, dim3(8), dim3(32), {cluster_of(2), preferred}, 0);
  preferred.val.preferredClusterDim = {3, 1, 1};
  extended("clusters of 2, preferred of 3", empty, dim3(12), dim3(32), {cluster_of(2), preferred}, 0);
  for (const int cooperative : {0, 1, 5}) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = cooperative;
    const std::string name = "cooperative " + std::to_string(cooperative);
    extended((name + ", 8 blocks").c_str(), empty, dim3(8), dim3(32), {attribute}, 0);
    extended((name + ", 1,000,000 blocks").c_str(), empty, dim3(1000000), dim3(32), {attribute}, 0);
    extended((name + ", clusters of 2").c_str(), empty, dim3(8), dim3(32), {attribute, cluster_of(2)}, 0);
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(32);
  config.numAttrs = 1;
  launched("one attribute at address 0", cudaLaunchKernelEx(&config, empty));
  config.numAttrs = 0;
  config.stream = nullptr;
  launched("no attribute", cudaLaunchKernelEx(&config, empty));
}

template <int Bytes>
void parameter(const char* name) {
  static Parameter<Bytes> value{};
  with_parameter<Bytes><<<1, 32>>>(value);
  launched(name);
}

void parameters() {
  parameter<4096>("a parameter of 4,096 bytes");
  parameter<4097>("a parameter of 4,097 bytes");
  parameter<32764>("a parameter of 32,764 bytes");
}

template <int Bytes>
void local(const char* name) {
  with_local<Bytes><<<1, 32>>>(nullptr, 7);
  launched((std::string(name) + " of local memory, 1 block of 32").c_str());
  with_local<Bytes><<<1, 1024>>>(nullptr, 7);
  launched((std::string(name) + " of local memory, 1 block of 1024").c_str());
}

void local_memory() {
  local<16 << 10>("16 KB");
  local<100 << 10>("100 KB");
  local<(512 << 10) - 1024>("511 KB");
}
void local_memory_512() {
  local<512 << 10>("512 KB");
}
void local_memory_600() {
  local<600 << 10>("600 KB");
}

void stack_limits() {
  size_t bytes = 0;
  cudaError_t error = cudaDeviceGetLimit(&bytes, cudaLimitStackSize);
  number("stack size", error, static_cast<long long>(bytes));
  for (const size_t wanted : {size_t{0}, size_t{1}, size_t{2048}, size_t{65536}, size_t{524288} - 2048,
                              size_t{524288}, size_t{1} << 20, size_t{1} << 40}) {
    ask(("set a stack of " + std::to_string(wanted)).c_str(), cudaDeviceSetLimit(cudaLimitStackSize, wanted));
    error = cudaDeviceGetLimit(&bytes, cudaLimitStackSize);
    number("then it is", error, static_cast<long long>(bytes));
  }
}

void recursion_of(int depth) {
  recursive<<<1, 32>>>(nullptr, depth);
  launched(("calls " + std::to_string(depth) + " deep").c_str());
}
void recursion_1() {
  recursion_of(1);
}
void recursion_8() {
  recursion_of(8);
}
void recursion_100() {
  recursion_of(100);
}
void recursion_10000() {
  recursion_of(10000);
}
void recursion_with_stack() {
  ask("set a stack of 64 KB", cudaDeviceSetLimit(cudaLimitStackSize, 64 << 10));
  recursion_of(100);
}

void printing() {
  size_t bytes = 0;
  const cudaError_t error = cudaDeviceGetLimit(&bytes, cudaLimitPrintfFifoSize);
  number("printf buffer", error, static_cast<long long>(bytes));
  ask("a printf buffer of 0", cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 0));
  ask("a printf buffer of 2^20", cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 1 << 20));
  prints<<<1, 32>>>(10000);
  launched("more lines than the printf buffer holds");
  ask("a printf buffer after a launch that prints", cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 1 << 21));
  ask("a heap of 2^50", cudaDeviceSetLimit(cudaLimitMallocHeapSize, size_t{1} << 50));
}

void textures() {
  float* memory = nullptr;
  cudaMalloc(&memory, 1 << 20);
  const auto linear = [&](const char* name, float* at, size_t bytes) {
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = at;
    resource.res.linear.desc = cudaCreateChannelDesc<float>();
    resource.res.linear.sizeInBytes = bytes;
    cudaTextureDesc description{};
    cudaTextureObject_t texture = 0;
    ask(name, cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  };
  linear("linear texture", memory, 1 << 20);
  linear("linear texture of 0 bytes", memory, 0);
  linear("linear texture of 2^27 elements", memory, size_t{4} << 27);
  linear("linear texture of 2^28 elements", memory, size_t{4} << 28);
  linear("linear texture of 2^28 + 1 elements", memory, (size_t{4} << 28) + 4);
  linear("linear texture of 2^30 elements", memory, size_t{4} << 30);
  linear("linear texture at an address that 4 divides", memory + 1, 1024);
  linear("linear texture at an address that 256 divides", memory + 64, 1024);
  linear("linear texture at address 0", nullptr, 1024);
  const auto pitched = [&](const char* name, size_t width, size_t height, size_t pitch) {
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D = {memory, cudaCreateChannelDesc<float>(), width, height, pitch};
    cudaTextureDesc description{};
    cudaTextureObject_t texture = 0;
    ask(name, cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  };
  pitched("pitched texture", 32, 32, 128);
  pitched("pitched texture, pitch of 132", 32, 32, 132);
  pitched("pitched texture, pitch below its width", 64, 32, 128);
  pitched("pitched texture 131073 wide", 131073, 1, 131104 * 4);
  pitched("pitched texture 65001 high", 8, 65001, 32);
  const auto description = cudaCreateChannelDesc<float>();
  const struct {
    const char* name;
    size_t x, y, z;
    unsigned flags;
  } kArrays[] = {
      {"array of 131072", 131072, 0, 0, 0},
      {"array of 131073", 131073, 0, 0, 0},
      {"array of 16x65536", 16, 65536, 0, 0},
      {"array of 16x65537", 16, 65537, 0, 0},
      {"array of 131073x1", 131073, 1, 0, 0},
      {"array of 2x2x16384", 2, 2, 16384, 0},
      {"array of 2x2x16385", 2, 2, 16385, 0},
      {"array of 16385x2x2", 16385, 2, 2, 0},
      {"array of 0", 0, 0, 0, 0},
      {"2048 layers", 16, 0, 2048, cudaArrayLayered},
      {"2049 layers", 16, 0, 2049, cudaArrayLayered},
      {"32769 wide layers", 32769, 0, 2, cudaArrayLayered},
      {"cube of 16x16x5", 16, 16, 5, cudaArrayCubemap},
      {"cube of 16x17x6", 16, 17, 6, cudaArrayCubemap},
  };
  for (const auto& one : kArrays) {
    cudaArray_t array = nullptr;
    if (ask(one.name, cudaMalloc3DArray(&array, &description, cudaExtent{one.x, one.y, one.z}, one.flags)) ==
        cudaSuccess)
      cudaFreeArray(array);
  }
}

void graphs() {
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  const auto captured = [&](const char* name, const std::function<void()>& work) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    work();
    ask((std::string(name) + ", captured").c_str(), cudaGetLastError());
    if (ask((std::string(name) + ", end of capture").c_str(), cudaStreamEndCapture(stream, &graph)) !=
        cudaSuccess)
      return;
    if (ask((std::string(name) + ", instantiated").c_str(), cudaGraphInstantiate(&executable, graph)) ==
        cudaSuccess)
      launched((std::string(name) + ", replayed").c_str(), cudaGraphLaunch(executable, nullptr));
  };
  captured("graph", [&] { empty<<<1, 32, 0, stream>>>(); });
  captured("graph with 1025 threads", [&] { empty<<<1, 1025, 0, stream>>>(); });
  captured("graph with 48 KB + 1", [&] { empty<<<1, 32, (48 << 10) + 1, stream>>>(); });
  captured("graph with 65 of 64 threads", [&] { at_most_64<<<1, 65, 0, stream>>>(); });
  captured("graph with a third of a cluster", [&] { in_pairs<<<3, 32, 0, stream>>>(); });
  captured("graph with 1024 threads of over 120 registers",
           [&] { many_registers<<<1, 1024, 0, stream>>>(nullptr); });
  captured("graph with clusters of 16", [&] { in_sixteens<<<dim3(4, 4), 32, 0, stream>>>(); });
  const auto node = [&](const char* name, void* kernel, dim3 grid, dim3 block, unsigned shared) {
    cudaGraph_t graph = nullptr;
    cudaGraphNode_t made = nullptr;
    cudaGraphExec_t executable = nullptr;
    cudaGraphCreate(&graph, 0);
    cudaKernelNodeParams parameters{};
    void* arguments[1] = {};
    parameters.func = kernel;
    parameters.gridDim = grid;
    parameters.blockDim = block;
    parameters.sharedMemBytes = shared;
    parameters.kernelParams = arguments;
    if (ask((std::string(name) + ", added").c_str(),
            cudaGraphAddKernelNode(&made, graph, nullptr, 0, &parameters)) != cudaSuccess)
      return;
    if (ask((std::string(name) + ", instantiated").c_str(), cudaGraphInstantiate(&executable, graph)) ==
        cudaSuccess)
      launched((std::string(name) + ", replayed").c_str(), cudaGraphLaunch(executable, nullptr));
  };
  void* kernel = reinterpret_cast<void*>(empty);
  node("node", kernel, dim3(1), dim3(32), 0);
  node("node with 1025 threads", kernel, dim3(1), dim3(1025), 0);
  node("node with 0 blocks", kernel, dim3(0), dim3(32), 0);
  node("node with 48 KB + 1", kernel, dim3(1), dim3(32), (48 << 10) + 1);
  node("node with 65536 rows", kernel, dim3(1, 65536), dim3(32), 0);
  node("node with a third of a cluster", reinterpret_cast<void*>(in_pairs), dim3(3), dim3(32), 0);
}

const struct {
  const char* name;
  void (*ask)();
} kGroups[] = {
    {"shapes", shapes},
    {"shared_memory", shared_memory},
    {"clusters", clusters},
    {"clusters_built_in", clusters_built_in},
    {"clusters_with_much", clusters_with_much},
    {"attributes", attributes},
    {"parameters", parameters},
    {"local_memory", local_memory},
    {"local_memory_512", local_memory_512},
    {"local_memory_600", local_memory_600},
    {"stack_limits", stack_limits},
    {"printing", printing},
    {"textures", textures},
    {"graphs", graphs},
    {"texts", texts},
    {"barrier_16", barrier_16},
    {"barrier_of_33", barrier_of_33},
    {"recursion_1", recursion_1},
    {"recursion_8", recursion_8},
    {"recursion_100", recursion_100},
    {"recursion_with_stack", recursion_with_stack},
    {"recursion_10000", recursion_10000},
};

bool wanted(const char* name, int count, char** arguments) {
  for (int i = 1; i < count; ++i)
    if (std::strcmp(name, arguments[i]) == 0) return true;
  return count == 1;
}

int main(int count, char** arguments) {
  for (const auto& group : kGroups) {
    if (!wanted(group.name, count, arguments)) continue;
    std::printf("[%s]\n", group.name);
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      alarm(120);
      group.ask();
      std::fflush(stdout);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) std::printf("ended with status %d\n", status);
  }
  return 0;
}
