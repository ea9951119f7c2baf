// Measures what a device profile needs, and prints it as one line of JSON.
//   measure [SCALE]   SCALE divides the sizes but for the flush: 64 lets the virtual GPU run it in seconds
// Latency: a chain of loads, each of which names the next. Bandwidth: a copy far larger than L2, and reads of
// something that fits. Start: how much later the last SM begins than one alone. Dispatch: blocks that do
// nothing. Launching: events around empty kernels.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <vector>

namespace {

constexpr int kHops = 256;
constexpr size_t kLine = 128;  // bytes between elements of the chain, so that no hop finds its line fetched

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

__global__ void nothing() {}

__global__ void chain(const uint32_t* next, int hops, uint32_t* end) {
  uint32_t at = 0;
  for (int i = 0; i < hops; ++i) at = __ldcg(next + at);
  *end = at;
}

__global__ void copy(const float4* from, float4* to, size_t units) {
  const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  if (i < units) to[i] = from[i];
}

__global__ void read(const float4* from, size_t units, float* sink) {
  const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  if (i < units && from[i].x == 12345.678f) *sink = from[i].x;  // never: keeps the loads
}

__global__ void read_again(const float4* from, size_t units, int times, float* sink) {
  float sum = 0;
  for (int t = 0; t < times; ++t)
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < units;
         i += size_t{gridDim.x} * blockDim.x)
      sum += __ldcg(from + i).x;
  if (sum == 12345.678f) *sink = sum;  // never: keeps the loads
}

class Stopwatch {
 public:
  Stopwatch() {
    check(cudaEventCreate(&begin_), "cudaEventCreate");
    check(cudaEventCreate(&end_), "cudaEventCreate");
  }
  // The median of several runs, in seconds.
  double median(int runs, const std::function<void()>& before, const std::function<void()>& run) {
    std::vector<double> times;
    for (int i = 0; i < runs + 1; ++i) {
      before();
      check(cudaEventRecord(begin_), "cudaEventRecord");
      run();
      check(cudaEventRecord(end_), "cudaEventRecord");
      check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
      if (i > 0) times.push_back(static_cast<double>(milliseconds) * 1e-3);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }

 private:
  cudaEvent_t begin_, end_;
};

template <class T>
T* allocate(size_t count) {
  void* pointer = nullptr;
  check(cudaMalloc(&pointer, count * sizeof(T)), "cudaMalloc");
  check(cudaMemset(pointer, 0, count * sizeof(T)), "cudaMemset");
  return static_cast<T*>(pointer);
}

// A random cycle through the lines of a buffer.
std::vector<uint32_t> random_cycle(size_t bytes) {
  const size_t lines = bytes / kLine, words = kLine / 4;
  std::vector<uint32_t> order(lines), next(lines * words, 0);
  std::iota(order.begin(), order.end(), 0u);
  uint64_t state = 7;
  for (size_t i = lines; i > 1; --i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    std::swap(order[i - 1], order[(state >> 33) % i]);
  }
  for (size_t i = 0; i < lines; ++i)
    next[order[i] * words] = static_cast<uint32_t>(order[(i + 1) % lines] * words);
  return next;
}

}  // namespace

int main(int argc, char** argv) {
  const size_t scale = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
  cudaDeviceProp device;
  int clock_khz = 0;
  check(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  check(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, 0), "cudaDeviceGetAttribute");
  const double hertz = clock_khz * 1e3;

  const size_t flush_bytes = 2 * static_cast<size_t>(device.l2CacheSize);
  uint8_t* flush_buffer = allocate<uint8_t>(flush_bytes);
  const auto flush = [&] { check(cudaMemsetAsync(flush_buffer, 1, flush_bytes), "cudaMemsetAsync"); };
  const auto keep = [] {};
  Stopwatch watch;

  const double floor = watch.median(51, flush, [] { nothing<<<1, 32>>>(); });
  const double five = watch.median(51, flush, [] {
    for (int i = 0; i < 5; ++i) nothing<<<1, 32>>>();
  });

  const size_t chain_bytes = (size_t{256} << 20) / scale;
  const std::vector<uint32_t> cycle = random_cycle(chain_bytes);
  auto* next = allocate<uint32_t>(cycle.size());
  auto* end = allocate<uint32_t>(1);
  check(cudaMemcpy(next, cycle.data(), chain_bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  const auto hop = [&](const std::function<void()>& before) {
    const double far = watch.median(15, before, [&] { chain<<<1, 1>>>(next, 2 * kHops, end); });
    const double near = watch.median(15, before, [&] { chain<<<1, 1>>>(next, kHops, end); });
    return (far - near) / kHops * hertz;
  };
  const double dram_latency = hop(flush);
  const double l2_latency = hop(keep);

  const size_t copy_units = (size_t{1} << 30) / 16 / scale;
  auto* from = allocate<float4>(copy_units);
  auto* to = allocate<float4>(copy_units);
  const unsigned copy_blocks = static_cast<unsigned>((copy_units + 511) / 512);
  const double copied = watch.median(11, keep, [&] { copy<<<copy_blocks, 512>>>(from, to, copy_units); });
  const double bandwidth = 32.0 * static_cast<double>(copy_units) / (copied - floor);

  auto* sink = reinterpret_cast<float*>(end);
  const auto read_by = [&](unsigned blocks, unsigned threads, size_t units) {
    return watch.median(51, flush, [&] { read<<<blocks, threads>>>(from, units, sink); });
  };
  const double read_once =
      watch.median(11, keep, [&] { read<<<copy_blocks, 512>>>(from, copy_units, sink); });
  const double gain = 16.0 * static_cast<double>(copy_units) / (read_once - floor) / bandwidth - 1;
  const unsigned sms = static_cast<unsigned>(device.multiProcessorCount);
  const double spread = read_by(sms, 32, size_t{sms} * 32) - read_by(1, 32, 32);

  const size_t small_units = static_cast<size_t>(device.l2CacheSize) / 4 / 16 / scale;
  const unsigned read_blocks = static_cast<unsigned>(device.multiProcessorCount) * 4;
  const auto read_all = [&](int times) {
    return watch.median(11, keep, [&] { read_again<<<read_blocks, 512>>>(from, small_units, times, sink); });
  };
  const double l2_bandwidth = 16.0 * static_cast<double>(small_units) * 8 / (read_all(12) - read_all(4));

  const unsigned many = static_cast<unsigned>((size_t{1} << 20) / scale);
  const double dealt = watch.median(11, keep, [&] { nothing<<<many, 32>>>(); });

  std::printf(
      "{\"name\": \"%s\", \"cc_major\": %d, \"cc_minor\": %d, \"sms\": %d, \"max_threads_per_sm\": %d, "
      "\"max_blocks_per_sm\": %d, \"max_warps_per_sm\": %d, \"registers_per_sm\": %d, "
      "\"registers_per_block\": %d, "
      "\"shared_per_block\": %zu, \"shared_per_block_optin\": %zu, \"shared_per_sm\": %zu, "
      "\"reserved_shared_per_block\": %zu, \"memory_bytes\": %zu, \"l2_bytes\": %d, \"clock_ghz\": %.4f, "
      "\"memory_bus_bits\": %d, \"dram_bytes_per_second\": %.4g, \"l2_bytes_per_second\": %.4g, "
      "\"launch_floor_us\": %.3f, \"launch_gap_us\": %.3f, \"dispatch_blocks_per_second\": %.4g, "
      "\"dram_latency_cycles\": %.1f, \"dram_one_way_gain\": %.3f, \"l2_latency_cycles\": %.1f, "
      "\"start_spread_us\": %.3f}\n",
      device.name, device.major, device.minor, device.multiProcessorCount, device.maxThreadsPerMultiProcessor,
      device.maxBlocksPerMultiProcessor, device.maxThreadsPerMultiProcessor / 32,
      device.regsPerMultiprocessor, device.regsPerBlock, device.sharedMemPerBlock,
      device.sharedMemPerBlockOptin, device.sharedMemPerMultiprocessor, device.reservedSharedMemPerBlock,
      device.totalGlobalMem, device.l2CacheSize, hertz * 1e-9, device.memoryBusWidth, bandwidth, l2_bandwidth,
      floor * 1e6, (five - floor) / 4 * 1e6, static_cast<double>(many) / std::max(1e-9, dealt - floor),
      dram_latency, std::max(0.0, gain), l2_latency, std::max(0.0, spread) * 1e6);
  return 0;
}
