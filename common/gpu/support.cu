// The trusted half of a GPU measurement, loaded in the harness and, apart from the submission's library, in
// the worker. It shares device memory between processes, empties the caches and keeps the time.
//
// A measurement is begin_timing, the submission's call, end_timing. begin_timing queues more work than the
// host needs time for, so that the start event, the kernel and the stop event follow each other on the GPU
// without gaps made by the host. Many calls in a graph are begin_capture, the calls, end_capture once, and
// then begin_replay, launch_graph, end_timing as often as needed.
#include <cuda_runtime.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace {

constexpr int kSpinNanoseconds = 40'000;
constexpr int kReplaySpinNanoseconds = 400'000;  // a graph of a hundred nodes keeps the host longer
constexpr int kHoldNanoseconds = 20'000'000, kMomentMicroseconds = 3'000;
constexpr int kFlushTimes = 2;  // of the L2 cache's size

struct Timer {
  cudaEvent_t start = nullptr, stop = nullptr, settled = nullptr;
  char* flush = nullptr;
  size_t flush_bytes = 0;
  int stop_ns = 0, settled_ns = 0;
} timer;

struct Capture {
  cudaStream_t stream = nullptr;
  cudaGraphExec_t graph = nullptr;
  int nodes = 0;
} capture;

uint64_t last_address = 0;

// Holds the stream, so that what is queued behind it starts without waiting for the host.
__global__ void spin(int nanoseconds) {
  uint64_t begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  while (now - begin < static_cast<uint64_t>(nanoseconds));
}

__global__ void nothing() {}

__global__ void add_up(const uint32_t* words, size_t count, unsigned long long* sum) {
  unsigned long long mine = 0;
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count;
       i += size_t{gridDim.x} * blockDim.x)
    mine += (words[i] ^ i) * 0x9e3779b97f4a7c15ull;
  atomicAdd(sum, mine);
}

// Reading back what the flush wrote cleans the cache: its dirty lines would be written out in the timed
// region.
__global__ void read_back(const uint4* data, size_t count, int* never) {
  uint32_t sum = 0;
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count;
       i += size_t{gridDim.x} * blockDim.x)
    sum += data[i].x ^ data[i].w;
  if (sum == 0x12345678) *never = 1;
}

int prepare() {
  if (timer.start != nullptr) return 0;
  int device = 0, l2 = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device);
  timer.flush_bytes = static_cast<size_t>(l2) * kFlushTimes;
  if (cudaError_t e = cudaMalloc(&timer.flush, 2 * timer.flush_bytes)) return e;
  for (cudaEvent_t* event : {&timer.start, &timer.stop, &timer.settled})
    if (cudaError_t e = cudaEventCreate(event)) return e;
  return 0;
}

// A stream that takes part in the default stream's order, so that work which a captured call puts there
// by mistake is an error with a name and not silently left out of the graph.
int prepare_capture() {
  if (capture.stream != nullptr) return 0;
  return cudaStreamCreate(&capture.stream);
}

template <class Copy>
int with_mapped(int file, uint64_t bytes, Copy copy) {
  void* host = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (host == MAP_FAILED) return cudaErrorOperatingSystem;
  const int error = copy(host);
  munmap(host, bytes);
  return error;
}

}  // namespace

extern "C" {

// Device memory of its own: blocks of 2 MiB, so that sharing one allocation shares no neighbour.
int device_allocate(uint64_t bytes, uint64_t* address) {
  constexpr uint64_t kBlock = 2u << 20;
  void* p = nullptr;
  const cudaError_t e = cudaMalloc(&p, (bytes + kBlock - 1) / kBlock * kBlock);
  *address = reinterpret_cast<uint64_t>(p);
  return e;
}

int device_release(uint64_t address) {
  return cudaFree(reinterpret_cast<void*>(address));
}

int share_memory(uint64_t address, uint64_t* words) {
  cudaIpcMemHandle_t handle;
  const cudaError_t e = cudaIpcGetMemHandle(&handle, reinterpret_cast<void*>(address));
  std::memcpy(words, &handle, sizeof handle);
  return e;
}

// In the worker. Calls pass numbers alone: a handle comes as eight words, an address goes back in halves.
int open_memory(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g,
                uint64_t h) {
  const uint64_t words[] = {a, b, c, d, e, f, g, h};
  cudaIpcMemHandle_t handle;
  static_assert(sizeof handle == sizeof words);
  std::memcpy(&handle, words, sizeof handle);
  void* p = nullptr;
  const cudaError_t error = cudaIpcOpenMemHandle(&p, handle, cudaIpcMemLazyEnablePeerAccess);
  last_address = reinterpret_cast<uint64_t>(p);
  return error;
}
int address_low() {
  return static_cast<int>(last_address & 0x7fffffff);
}
int address_middle() {
  return static_cast<int>(last_address >> 31 & 0x7fffffff);
}
int close_memory(uint64_t address) {
  return cudaIpcCloseMemHandle(reinterpret_cast<void*>(address));
}

// Where memory cannot be shared, the worker has its own and exchanges bytes through a mapped file.
int own_memory(uint64_t bytes) {
  return device_allocate(bytes, &last_address);
}

// `file` is a memory file that the harness maps too.
int copy_to_device(int file, uint64_t address, uint64_t bytes) {
  return with_mapped(file, bytes, [&](void* host) {
    return cudaMemcpy(reinterpret_cast<void*>(address), host, bytes, cudaMemcpyHostToDevice);
  });
}
int copy_from_device(int file, uint64_t address, uint64_t bytes) {
  return with_mapped(file, bytes, [&](void* host) {
    return cudaMemcpy(host, reinterpret_cast<void*>(address), bytes, cudaMemcpyDeviceToHost);
  });
}

int settle() {
  return cudaDeviceSynchronize();
}

// Is the call's work behind what was on its stream before? The stream is held, the call made, and after a
// while the outputs must still be as they were. Answers 0 when they are, 1 when they are not.
int hold_stream() {
  if (const int e = prepare()) return e;
  cudaDeviceSynchronize();
  spin<<<1, 1>>>(kHoldNanoseconds);
  return cudaEventRecord(timer.stop);
}
int digest_memory(uint64_t address, uint64_t bytes) {
  static cudaStream_t aside = nullptr;
  static unsigned long long* sum = nullptr;
  if (aside == nullptr) {
    cudaStreamCreateWithFlags(&aside, cudaStreamNonBlocking);
    cudaMalloc(&sum, sizeof *sum);
  }
  unsigned long long host = 0;
  cudaMemsetAsync(sum, 0, sizeof *sum, aside);
  add_up<<<64, 256, 0, aside>>>(reinterpret_cast<const uint32_t*>(address), bytes / 4, sum);
  cudaMemcpyAsync(&host, sum, sizeof host, cudaMemcpyDeviceToHost, aside);
  if (cudaError_t e = cudaStreamSynchronize(aside)) return -static_cast<int>(e);
  return static_cast<int>((host ^ host >> 31) & 0x7fffffff);
}
// 1 while the stream is still held.
int stream_is_held() {
  return cudaEventQuery(timer.stop) == cudaErrorNotReady ? 1 : 0;
}
int wait_a_moment() {
  usleep(kMomentMicroseconds);
  return 0;
}

int begin_timing_held(int nanoseconds) {
  if (const int e = prepare()) return e;
  cudaCtxResetPersistingL2Cache();
  cudaMemsetAsync(timer.flush, 0x5a, timer.flush_bytes);
  read_back<<<1024, 256>>>(reinterpret_cast<const uint4*>(timer.flush + timer.flush_bytes),
                           timer.flush_bytes / sizeof(uint4), reinterpret_cast<int*>(timer.flush));
  spin<<<1, 1>>>(nanoseconds);
  return cudaEventRecord(timer.start);
}
int begin_timing() {
  return begin_timing_held(kSpinNanoseconds);
}

// Called in place of an entry point, with any arguments, to see what the way there takes.
int do_nothing() {
  return 0;
}

// The stream on which calls are captured; its address goes back as memory's does.
int capture_stream() {
  const int e = prepare_capture();
  last_address = reinterpret_cast<uint64_t>(capture.stream);
  return e;
}
int drop_graph() {
  if (capture.graph == nullptr) return 0;
  const cudaError_t e = cudaGraphExecDestroy(capture.graph);
  capture.graph = nullptr;
  return e;
}
int begin_capture() {
  if (const int e = prepare_capture()) return e;
  if (const int e = drop_graph()) return e;
  if (cudaError_t e = cudaDeviceSynchronize()) return e;
  return cudaStreamBeginCapture(capture.stream, cudaStreamCaptureModeGlobal);
}
int end_capture() {
  cudaGraph_t captured = nullptr;
  cudaError_t e = cudaStreamEndCapture(capture.stream, &captured);
  if (e != cudaSuccess) {
    cudaGetLastError();  // what comes next is not to blame for it
    return e;
  }
  size_t nodes = 0;
  e = cudaGraphGetNodes(captured, nullptr, &nodes);
  capture.nodes = static_cast<int>(nodes);
  if (e == cudaSuccess) e = cudaGraphInstantiate(&capture.graph, captured, 0);
  cudaGraphDestroy(captured);
  if (e == cudaSuccess) e = cudaGraphUpload(capture.graph, nullptr);
  return e;
}
int captured_nodes() {
  return capture.nodes;
}
// Between captured calls: memory gets its contents only before the call that may read it, and loses them
// after it.
int captured_copy(uint64_t target, uint64_t source, uint64_t bytes) {
  return cudaMemcpyAsync(reinterpret_cast<void*>(target), reinterpret_cast<const void*>(source), bytes,
                         cudaMemcpyDeviceToDevice, capture.stream);
}
// The caches stay as whoever filled the memory left them: both sides find them alike.
int begin_replay() {
  if (const int e = prepare()) return e;
  cudaCtxResetPersistingL2Cache();
  spin<<<1, 1>>>(kReplaySpinNanoseconds);
  return cudaEventRecord(timer.start);
}
int launch_graph() {
  return cudaGraphLaunch(capture.graph, nullptr);
}

// The stop event follows the call's stream; the settled event is recorded once the whole device is idle, so
// that work left on another stream shows as a longer way from one to the other.
int end_timing() {
  if (cudaError_t e = cudaEventRecord(timer.stop)) return e;
  if (cudaError_t e = cudaDeviceSynchronize()) return e;
  if (cudaError_t e = cudaEventRecord(timer.settled)) return e;
  if (cudaError_t e = cudaEventSynchronize(timer.settled)) return e;
  float stop_ms = 0, settled_ms = 0;
  cudaEventElapsedTime(&stop_ms, timer.start, timer.stop);
  cudaEventElapsedTime(&settled_ms, timer.start, timer.settled);
  timer.stop_ns = static_cast<int>(stop_ms * 1e6f);
  timer.settled_ns = static_cast<int>(settled_ms * 1e6f);
  return 0;
}
int stop_nanoseconds() {
  return timer.stop_ns;
}
int settled_nanoseconds() {
  return timer.settled_ns;
}

// An empty kernel: no honest call takes less.
int time_nothing() {
  if (const int e = begin_timing()) return e;
  nothing<<<1, 1>>>();
  return end_timing();
}

// So many empty kernels in a graph: no honest replay of as many calls takes less.
int time_empty_graph(int calls) {
  if (const int e = begin_capture()) return e;
  for (int i = 0; i < calls; ++i) nothing<<<1, 1, 0, capture.stream>>>();
  if (const int e = end_capture()) return e;
  if (const int e = begin_replay()) return e;
  if (const int e = launch_graph()) return e;
  return end_timing();
}

// A plain device-to-device copy between the halves of a buffer, timed as submissions are.
int time_copy(uint64_t bytes) {
  static char* buffer = nullptr;
  static uint64_t have = 0;
  if (have < 2 * bytes) {
    cudaFree(buffer);
    if (cudaError_t e = cudaMalloc(&buffer, 2 * bytes)) return e;
    have = 2 * bytes;
    cudaMemset(buffer, 1, have);
  }
  if (const int e = begin_timing()) return e;
  cudaMemcpyAsync(buffer + bytes, buffer, bytes, cudaMemcpyDeviceToDevice);
  return end_timing();
}

}  // extern "C"
