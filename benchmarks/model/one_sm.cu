// What the blocks, loads and stores of one SM cost each other, in graphs of 16 launches: the table "One SM
// and its way to memory" in docs/cost-model.md. A line of its output is a case: its name, its sizes,
// microseconds or cycles.
//   nvcc -arch=sm_90 -O3 -o one_sm one_sm.cu && ./one_sm > one_sm_h200.csv
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#define OK(x)                                                           \
  do {                                                                  \
    cudaError_t e_ = (x);                                               \
    if (e_ != cudaSuccess) {                                            \
      printf("error,%s,%d,%s\n", #x, __LINE__, cudaGetErrorString(e_)); \
      fflush(stdout);                                                   \
      cudaGetLastError();                                               \
    }                                                                   \
  } while (0)

constexpr int kCalls = 16;
constexpr size_t kArena = size_t{2} << 30;
static char *g_from, *g_to;
static long long* g_log;
static cudaStream_t s;
static cudaEvent_t e0, e1;

__global__ void hold(long long cycles) {
  const long long t = clock64();
  while (clock64() - t < cycles) {
  }
}
__global__ void fill(uint4* p, size_t n, unsigned v) {
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x)
    p[i] = make_uint4(v, v, v, v);
}
__global__ void empty() {}
// Waits for the value: instructions issue in order, and volatile ones stay in order.
__device__ __forceinline__ void await_value(unsigned v) {
  asm volatile("{.reg .pred p; setp.eq.u32 p, %0, 0x12345; @p trap;}" ::"r"(v));
}

// us per launch of a graph of `calls`
static double graph_us(const std::function<void(int)>& launch, const std::function<void()>& before = nullptr,
                       int calls = kCalls, int reps = 5) {
  cudaGraph_t g;
  cudaGraphExec_t x;
  OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < calls; ++i) launch(i);
  OK(cudaStreamEndCapture(s, &g));
  OK(cudaGraphInstantiate(&x, g, 0));
  std::vector<double> t;
  for (int r = 0; r < reps + 2; ++r) {
    if (before) before();
    hold<<<1, 1, 0, s>>>(60000);
    OK(cudaEventRecord(e0, s));
    OK(cudaGraphLaunch(x, s));
    OK(cudaEventRecord(e1, s));
    OK(cudaEventSynchronize(e1));
    float ms = 0;
    OK(cudaEventElapsedTime(&ms, e0, e1));
    if (r >= 2) t.push_back(ms * 1e3 / calls);
  }
  OK(cudaGraphExecDestroy(x));
  OK(cudaGraphDestroy(g));
  std::sort(t.begin(), t.end());
  return t[t.size() / 2];
}

// ---- parameters -------------------------------------------------------------------------------------------
template <int N>
struct Params {
  int v[N];
};
template <int N>
__global__ void unread(const __grid_constant__ Params<N> p, int* out) {
  if (out != nullptr && threadIdx.x == 9999) *out = p.v[threadIdx.x % N];
}
// A chain through parameters: each value is the place of the next. Cycles of each read by clock.
__global__ void param_chain(const __grid_constant__ Params<1000> p, long long* log, int hops) {
  int at = 0;
  long long t0 = clock64();
  for (int i = 0; i < hops; ++i) {
    at = p.v[at];
    await_value(at);
    const long long t1 = clock64();
    if (threadIdx.x == 0) log[blockIdx.x * 16 + i] = t1 - t0;
    t0 = t1;
  }
}
// Two values at static places, apart by the template's distance, neither depends on the other.
template <int A, int B>
__global__ void param_static(const __grid_constant__ Params<1000> p, int* out) {
  if (p.v[A] + p.v[B] == 12345) *out = 1;
}

// ---- spinning blocks: what it costs that blocks follow one another
// ------------------------------------------
__global__ void spin(long long cycles) {
  const long long t = clock64();
  while (clock64() - t < cycles) {
  }
}
template <int kShared>
__global__ void spin_shared(long long cycles) {
  __shared__ int held[kShared / 4];
  const long long t = clock64();
  held[threadIdx.x] = 1;
  while (clock64() - t < cycles) {
  }
}

// ---- streams: each warp moves its own row, `depth` units of a lane in flight
// ---------------------------------
template <int B>
struct U;
template <>
struct U<1> {
  using T = uint8_t;
};
template <>
struct U<2> {
  using T = uint16_t;
};
template <>
struct U<4> {
  using T = uint32_t;
};
template <>
struct U<8> {
  using T = uint2;
};
template <>
struct U<16> {
  using T = uint4;
};
__device__ unsigned bits(uint8_t a) {
  return a;
}
__device__ unsigned bits(uint16_t a) {
  return a;
}
__device__ unsigned bits(uint32_t a) {
  return a;
}
__device__ unsigned bits(uint2 a) {
  return a.x ^ a.y;
}
__device__ unsigned bits(uint4 a) {
  return a.x ^ a.y ^ a.z ^ a.w;
}

enum { kLoad, kStore, kCopy };
template <int B, int D, int M>
__global__ void stream(const char* from, char* to, int units) {  // units of a lane
  using T = typename U<B>::T;
  const int lane = threadIdx.x % 32;
  const size_t warp = size_t{blockIdx.x} * (blockDim.x / 32) + threadIdx.x / 32;
  const T* f = reinterpret_cast<const T*>(from) + warp * units * 32 + lane;
  T* t = reinterpret_cast<T*>(to) + warp * units * 32 + lane;
  unsigned sum = 0;
  for (int start = 0; start < units; start += D) {
    T held[D];
    if (M != kStore) {
#pragma unroll
      for (int i = 0; i < D; ++i) held[i] = f[(start + i) * 32];
    } else {
#pragma unroll
      for (int i = 0; i < D; ++i) held[i] = T{};
    }
    if (M != kLoad) {
#pragma unroll
      for (int i = 0; i < D; ++i) t[(start + i) * 32] = held[i];
    } else {
#pragma unroll
      for (int i = 0; i < D; ++i) sum ^= bits(held[i]);
    }
  }
  if (M == kLoad && sum == 0x12345) *t = T{};
}
template <int B, int D, int M>
static void stream_case(int blocks, int warps, bool l2) {
  double us[2];
  int units[2] = {l2 ? 32 : 64, l2 ? 64 : 128};
  for (int k = 0; k < 2; ++k) {
    const size_t bytes = size_t(blocks) * warps * 32 * B * units[k];
    if (l2 && bytes * (M == kCopy ? 2 : 1) > (size_t{36} << 20)) return;
    if (bytes > (size_t{80} << 20)) return;
    us[k] = graph_us(
        [&](int i) {
          const size_t at = l2 ? 0 : (size_t(i) * bytes) % (kArena - bytes);
          stream<B, D, M>
              <<<blocks, warps * 32, 0, s>>>(g_from + at / 4096 * 4096, g_to + at / 4096 * 4096, units[k]);
        },
        nullptr, kCalls, 3);
  }
  const char* names[] = {"load", "store", "copy"};
  const double per_sm = double(warps) * 32 * B * (units[1] - units[0]) * ((blocks + 131) / 132);
  printf("stream,%s,%s,unit=%d,depth=%d,blocks=%d,warps=%d,us1=%.3f,us2=%.3f,bytes_per_us_and_block=%.1f\n",
         names[M], l2 ? "l2" : "dram", B, D, blocks, warps, us[0], us[1], per_sm / (us[1] - us[0]));
}
template <int B, int D>
static void stream_modes(int blocks, int warps) {
  for (const bool l2 : {true, false}) {
    stream_case<B, D, kLoad>(blocks, warps, l2);
    stream_case<B, D, kStore>(blocks, warps, l2);
    stream_case<B, D, kCopy>(blocks, warps, l2);
  }
}

// ---- an element for each thread
// --------------------------------------------------------------------------------
struct Log {
  long long start, loaded, end;
  unsigned sm;
};
enum { kNone, kDiv64, kDiv32, kShift };
template <int B, int M, int DIV>
__global__ void element(const char* from, char* to, int64_t n, int columns, int64_t from_stride,
                        int64_t to_stride, long long* log) {
  using T = typename U<B>::T;
  const long long t0 = log != nullptr ? clock64() : 0;
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int64_t row, column;
  if (DIV == kDiv64) row = i / columns, column = i % columns;
  if (DIV == kDiv32) row = unsigned(i) / unsigned(columns), column = unsigned(i) % unsigned(columns);
  if (DIV == kShift) row = i >> columns, column = i & ((1 << columns) - 1);
  if (DIV == kNone) row = 0, column = i;
  const T* f = reinterpret_cast<const T*>(from) + row * from_stride + column;
  T* t = reinterpret_cast<T*>(to) + row * to_stride + column;
  T held{};
  if (M != kStore) held = *f;
  long long t1 = 0;
  if (log != nullptr) {
    await_value(bits(held));
    t1 = clock64();
  }
  if (M != kLoad || bits(held) == 0x12345) *t = held;
  if (log != nullptr && threadIdx.x == 0) {
    long long* l = log + blockIdx.x * 4;
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    l[0] = t0, l[1] = t1, l[3] = sm;
    l[2] = clock64();
  }
}
template <int B, int M, int DIV>
static void element_case(int64_t n, int columns, int64_t rows_of, int threads, const char* where) {
  const int64_t real = DIV == kShift ? int64_t{1} << columns : columns;
  const int64_t fs = real, ts = real + 1024 * 4 / B;
  const size_t bytes = n * B, tb = (n / std::max<int64_t>(1, real) + 1) * ts * B;
  const unsigned blocks = (n + threads - 1) / threads;
  const std::string w = where;
  const size_t stepf = (bytes + 4095) / 4096 * 4096, stept = (tb + 4095) / 4096 * 4096;
  if (w != "l2" && stept * kCalls > kArena) return;
  const auto launch = [&](int i, long long* log) {
    const size_t k = w == "l2" ? 0 : i;
    element<B, M, DIV>
        <<<blocks, threads, 0, s>>>(g_from + k * stepf, g_to + k * stept, n, columns, fs, ts, log);
  };
  const double us = graph_us([&](int i) { launch(i, nullptr); },
                             [&] {
                               if (w != "filled") return;
                               fill<<<264, 512, 0, s>>>((uint4*)g_from, stepf * kCalls / 16, 7);
                               fill<<<264, 512, 0, s>>>((uint4*)g_to, stept * kCalls / 16, 8);
                             });
  // Once more with a log, alone.
  OK(cudaMemsetAsync(g_log, 0, size_t{blocks} * 32, s));
  for (int i = 0; i < 4; ++i) launch(i, nullptr);
  launch(4, g_log);
  OK(cudaStreamSynchronize(s));
  std::vector<long long> log(size_t{blocks} * 4);
  OK(cudaMemcpy(log.data(), g_log, log.size() * 8, cudaMemcpyDeviceToHost));
  double life = 0, load = 0, store = 0;
  std::map<long long, std::pair<long long, long long>> span;
  std::map<long long, double> lives;
  std::map<long long, std::vector<std::pair<long long, int>>> edges;
  for (unsigned b = 0; b < blocks; ++b) {
    const long long* l = &log[size_t{b} * 4];
    life += l[2] - l[0], load += l[1] - l[0], store += l[2] - l[1];
    auto [it, fresh] = span.try_emplace(l[3], l[0], l[2]);
    it->second.first = std::min(it->second.first, l[0]);
    it->second.second = std::max(it->second.second, l[2]);
    lives[l[3]] += l[2] - l[0];
    edges[l[3]].push_back({l[0], 1});
    edges[l[3]].push_back({l[2], -1});
  }
  double resident = 0, spans = 0, gap = 0;
  long gaps = 0;
  for (auto& [sm, sp] : span) {
    resident += lives[sm] / double(sp.second - sp.first), spans += sp.second - sp.first;
    auto& e = edges[sm];
    std::sort(e.begin(), e.end());
    std::vector<long long> ends;
    size_t taken = 0;
    for (auto& [t, d] : e) {
      if (d < 0)
        ends.push_back(t);
      else if (taken < ends.size())
        gap += t - ends[taken++], ++gaps;
    }
  }
  const char* modes[] = {"load", "store", "copy"};
  const char* divs[] = {"none", "div64", "div32", "shift"};
  printf(
      "element,%s,%s,unit=%d,%s,threads=%d,blocks=%u,n=%lld,us=%.3f,life=%.0f,load=%.0f,store=%.0f,resident=%"
      ".2f,gap=%.0f,span=%.0f\n",
      modes[M], where, B, divs[DIV], threads, blocks, (long long)n, us, life / blocks, load / blocks,
      store / blocks, resident / span.size(), gaps ? gap / gaps : 0, spans / span.size());
}

// ---- a thread for each row: a lane reads along its own row
// -----------------------------------------------------------
template <int B, int UNROLL>
__global__ void rows(const char* from, int* to, int row_bytes, long long* log) {
  using T = typename U<B>::T;
  const size_t row = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const T* f = reinterpret_cast<const T*>(from + row * row_bytes);
  unsigned sum = 0;
  const long long t0 = clock64();
#pragma unroll UNROLL
  for (int i = 0; i < row_bytes / B; ++i) sum += bits(f[i]);
  await_value(sum);
  const long long t1 = clock64();
  to[row] = sum;
  if (threadIdx.x == 0) log[blockIdx.x] = t1 - t0;
}
template <int B, int UNROLL>
static void rows_case(int blocks, int threads, int row_bytes, bool l2) {
  const size_t bytes = size_t(blocks) * threads * row_bytes;
  const double us = graph_us(
      [&](int i) {
        rows<B, UNROLL><<<blocks, threads, 0, s>>>(g_from + (l2 ? 0 : i * bytes % (kArena - bytes)),
                                                   (int*)g_to, row_bytes, g_log);
      },
      nullptr, kCalls, 3);
  std::vector<long long> log(blocks);
  OK(cudaMemcpy(log.data(), g_log, log.size() * 8, cudaMemcpyDeviceToHost));
  double mean = 0;
  for (auto l : log) mean += l;
  mean /= blocks;
  printf(
      "rows,%s,unit=%d,unroll=%d,blocks=%d,threads=%d,row_bytes=%d,us=%.3f,cycles=%.0f,cycles_per_load=%.2f,"
      "cycles_per_sector=%.1f\n",
      l2 ? "l2" : "dram", B, UNROLL, blocks, threads, row_bytes, us, mean, mean * B / row_bytes,
      mean * 32 / row_bytes);
}

// ---- latency of loads of a warp: 1 to 32 lines, hits in L1 and L2, DRAM
// -----------------------------------------------
__global__ void lines(const char* from, int spread, int step, int hops, long long* log, int* out) {
  size_t at = size_t{blockIdx.x} * (4 << 20) + size_t(threadIdx.x % 32) * spread;
  long long t0 = clock64();
  for (int i = 0; i < hops; ++i) {
    const int v = *reinterpret_cast<const volatile int*>(from + at);
    await_value(v);
    const long long t1 = clock64();
    if (threadIdx.x == 0) log[blockIdx.x * 64 + i] = t1 - t0;
    at += step + (v == 0x12345);
    t0 = clock64();
  }
  if (at == 1) *out = 1;
}

// ---- stores: parts of sectors
// ------------------------------------------------------------------------------------
template <int B>
__global__ void store_strided(char* to, int stride, int rounds) {  // bytes between lanes
  const size_t warp = size_t{blockIdx.x} * (blockDim.x / 32) + threadIdx.x / 32;
  char* t = to + warp * rounds * 32 * stride + (threadIdx.x % 32) * size_t(stride);
  for (int i = 0; i < rounds; ++i) *reinterpret_cast<typename U<B>::T*>(t + size_t(i) * 32 * stride) = {};
}

int main() {
  OK(cudaStreamCreate(&s));
  OK(cudaEventCreate(&e0));
  OK(cudaEventCreate(&e1));
  OK(cudaMalloc(&g_from, kArena));
  OK(cudaMalloc(&g_to, kArena));
  OK(cudaMalloc(&g_log, 64 << 20));
  fill<<<264, 512, 0, s>>>((uint4*)g_from, kArena / 16, 7);
  fill<<<264, 512, 0, s>>>((uint4*)g_to, kArena / 16, 7);
  OK(cudaStreamSynchronize(s));
  for (int i = 0; i < 300; ++i) hold<<<132, 32, 0, s>>>(200000);  // clocks up
  OK(cudaStreamSynchronize(s));

  for (const int threads : {32, 128, 256, 1024})
    for (const int blocks : {1, 33, 67, 132, 264, 1056, 4224, 16896})
      printf("empty,threads=%d,blocks=%d,us=%.3f\n", threads, blocks,
             graph_us([&](int) { empty<<<blocks, threads, 0, s>>>(); }));

  printf("unread,bytes=64,us=%.3f\n", graph_us([&](int) { unread<16><<<132, 128, 0, s>>>({}, nullptr); }));
  printf("unread,bytes=512,us=%.3f\n", graph_us([&](int) { unread<128><<<132, 128, 0, s>>>({}, nullptr); }));
  printf("unread,bytes=1024,us=%.3f\n", graph_us([&](int) { unread<256><<<132, 128, 0, s>>>({}, nullptr); }));
  printf("unread,bytes=4000,us=%.3f\n",
         graph_us([&](int) { unread<1000><<<132, 128, 0, s>>>({}, nullptr); }));
  for (const int step : {0, 1, 8, 16, 32, 64})
    for (const int blocks : {1, 132, 1056}) {
      Params<1000> p{};
      for (int i = 0; i < 1000; ++i) p.v[i] = (i + step) % 1000;
      const double us = graph_us([&](int) { param_chain<<<blocks, 128, 0, s>>>(p, g_log, 12); });
      std::vector<long long> log(16 * blocks);
      OK(cudaMemcpy(log.data(), g_log, log.size() * 8, cudaMemcpyDeviceToHost));
      printf("param_chain,step_bytes=%d,blocks=%d,us=%.3f,cycles", step * 4, blocks, us);
      for (int h = 0; h < 12; ++h) {
        std::vector<long long> v;
        for (int b = 0; b < std::min(blocks, 132); ++b) v.push_back(log[b * 16 + h]);
        std::sort(v.begin(), v.end());
        printf(",%lld", v[v.size() / 2]);
      }
      printf("\n");
    }
  {
    Params<1000> p{};
    printf("param_static,0+1,us=%.3f\n",
           graph_us([&](int) { param_static<0, 1><<<132, 128, 0, s>>>(p, (int*)g_to); }));
    printf("param_static,0+20,us=%.3f\n",
           graph_us([&](int) { param_static<0, 20><<<132, 128, 0, s>>>(p, (int*)g_to); }));
    printf("param_static,0+100,us=%.3f\n",
           graph_us([&](int) { param_static<0, 100><<<132, 128, 0, s>>>(p, (int*)g_to); }));
    printf("param_static,100+101,us=%.3f\n",
           graph_us([&](int) { param_static<100, 101><<<132, 128, 0, s>>>(p, (int*)g_to); }));
    printf("param_static,100+900,us=%.3f\n",
           graph_us([&](int) { param_static<100, 900><<<132, 128, 0, s>>>(p, (int*)g_to); }));
  }

  for (const int threads : {32, 128, 256, 1024})
    for (const int cycles : {0, 500, 1000, 2000})
      for (const int waves : {1, 2, 4, 8}) {
        const int blocks = 132 * std::min(32, 2048 / threads) * waves;
        printf("spin,threads=%d,cycles=%d,waves=%d,blocks=%d,us=%.3f\n", threads, cycles, waves, blocks,
               graph_us([&](int) { spin<<<blocks, threads, 0, s>>>(cycles); }));
      }
  for (const int cycles : {0, 1000})
    for (const int waves : {1, 2, 4, 8}) {
      const int blocks = 132 * 16 * waves;
      printf("spin_shared,threads=128,cycles=%d,waves=%d,blocks=%d,us=%.3f\n", cycles, waves, blocks,
             graph_us([&](int) { spin_shared<8192><<<blocks, 128, 0, s>>>(cycles); }));
    }

  for (const int64_t n : {int64_t{128} * 4096, int64_t{256} * 8192, int64_t{256} * 16384}) {
    const int columns = n / (n == 128 * 4096 ? 128 : 256), log2 = columns == 4096   ? 12
                                                                  : columns == 8192 ? 13
                                                                                    : 14;
    for (const char* where : {"filled", "stream", "l2"}) {
      element_case<4, kCopy, kDiv64>(n, columns, 1, 256, where);
      element_case<4, kCopy, kDiv32>(n, columns, 1, 256, where);
      element_case<4, kCopy, kShift>(n, log2, 1, 256, where);
      element_case<4, kCopy, kNone>(n, columns, 1, 256, where);
      element_case<4, kLoad, kNone>(n, columns, 1, 256, where);
      element_case<4, kStore, kNone>(n, columns, 1, 256, where);
      element_case<4, kLoad, kDiv64>(n, columns, 1, 256, where);
      element_case<4, kStore, kDiv64>(n, columns, 1, 256, where);
    }
    for (const int threads : {64, 128, 512, 1024}) {
      element_case<4, kCopy, kNone>(n, columns, 1, threads, "stream");
      element_case<4, kCopy, kDiv64>(n, columns, 1, threads, "stream");
      element_case<16, kCopy, kNone>(n, columns, 1, threads, "stream");
      element_case<16, kCopy, kDiv64>(n, columns, 1, threads, "stream");
    }
    element_case<1, kCopy, kNone>(n, columns, 1, 256, "stream");
    element_case<2, kCopy, kNone>(n, columns, 1, 256, "stream");
    element_case<8, kCopy, kNone>(n, columns, 1, 256, "stream");
    element_case<16, kCopy, kNone>(n, columns, 1, 256, "stream");
    element_case<16, kCopy, kNone>(n, columns, 1, 256, "l2");
    fflush(stdout);
  }

  for (const int blocks : {1, 33, 67, 132})
    for (const int warps : {1, 4, 8, 16, 32}) {
      stream_modes<16, 8>(blocks, warps);
      stream_modes<16, 4>(blocks, warps);
      stream_modes<16, 1>(blocks, warps);
      stream_modes<4, 8>(blocks, warps);
      stream_modes<4, 1>(blocks, warps);
      if (warps == 4 || warps == 32) {
        stream_modes<8, 8>(blocks, warps);
        stream_modes<2, 8>(blocks, warps);
      }
    }
  fflush(stdout);
  stream_modes<16, 8>(264, 4);
  stream_modes<16, 8>(264, 8);
  stream_modes<16, 8>(528, 4);
  stream_modes<4, 8>(528, 8);

  for (const int stride : {4, 8, 16, 32, 64, 128, 256})
    for (const int blocks : {1, 67, 132})
      for (const int warps : {4, 16}) {
        double us[2];
        for (int k = 0; k < 2; ++k)
          us[k] = graph_us([&](int) { store_strided<4><<<blocks, warps * 32, 0, s>>>(g_to, stride, 8 << k); },
                           nullptr, kCalls, 3);
        printf("store_strided,unit=4,stride=%d,blocks=%d,warps=%d,us1=%.3f,us2=%.3f,cycles_per_store=%.2f\n",
               stride, blocks, warps, us[0], us[1], (us[1] - us[0]) * 1980 / (8.0 * warps));
      }
  fflush(stdout);

  for (const bool l2 : {true, false})
    for (const int blocks : {1, 8, 132})
      for (const int threads : {32, 128, 256})
        for (const int row_bytes : {2048, 4096}) {
          if (l2 && size_t(blocks) * threads * row_bytes > (size_t{40} << 20)) continue;
          rows_case<1, 1>(blocks, threads, row_bytes, l2);
          rows_case<1, 4>(blocks, threads, row_bytes, l2);
          rows_case<4, 1>(blocks, threads, row_bytes, l2);
          rows_case<4, 4>(blocks, threads, row_bytes, l2);
          rows_case<16, 1>(blocks, threads, row_bytes, l2);
        }
  fflush(stdout);

  for (const int spread : {0, 4, 32, 128, 2048, 65536})
    for (const int blocks : {1, 132})
      for (const int threads : {32, 128}) {
        for (const int step : {0, 4, 32, 64, 128, 8192}) {
          for (int state = 0; state < 2; ++state) {  // cold, then in L2
            if (state == 0) fill<<<264, 512, 0, s>>>((uint4*)g_to, size_t{256} << 16, 7);
            if (state == 1) lines<<<blocks, threads, 0, s>>>(g_from, spread, step, 24, g_log, (int*)g_to);
            lines<<<blocks, threads, 0, s>>>(g_from, spread, step, 24, g_log, (int*)g_to);
            OK(cudaStreamSynchronize(s));
            std::vector<long long> log(64 * blocks);
            OK(cudaMemcpy(log.data(), g_log, log.size() * 8, cudaMemcpyDeviceToHost));
            printf("lines,spread=%d,step=%d,blocks=%d,threads=%d,%s,cycles", spread, step, blocks, threads,
                   state ? "l2" : "cold");
            for (int h = 0; h < 24; ++h) {
              std::vector<long long> v;
              for (int b = 0; b < blocks; ++b) v.push_back(log[b * 64 + h]);
              std::sort(v.begin(), v.end());
              printf("%c%lld", h ? ' ' : ',', v[v.size() / 2]);
            }
            printf("\n");
          }
        }
      }

  // Half a million blocks of 128 threads, 16 bytes each: DRAM-bound by bytes.
  for (const int threads : {128, 256, 1024}) {
    const int64_t n = int64_t{1} << 26;
    const unsigned blocks = n / threads;
    for (int k = 0; k < 3; ++k) {
      const double us = graph_us(
          [&](int) {
            if (k == 0)
              element<16, kCopy, kNone><<<blocks, threads, 0, s>>>(g_from, g_to, n, 1, 0, 0, nullptr);
            if (k == 1)
              element<16, kCopy, kDiv64>
                  <<<blocks, threads, 0, s>>>(g_from, g_to, n, 16384, 16384, 16384, nullptr);
            if (k == 2)
              stream<16, 8, kCopy><<<1056 * 2, 256, 0, s>>>(g_from, g_to, (int)(n / (2112 * 256) / 8 * 8));
          },
          nullptr, 1, 5);
      printf("large,%s,threads=%d,us=%.1f,bytes_per_s=%.3e\n",
             k == 0   ? "none"
             : k == 1 ? "div64"
                      : "stream",
             threads, us, 2.0 * 16 * n / us * 1e6);
    }
  }
  printf("done\n");
  return 0;
}
