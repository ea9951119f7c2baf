// A program of cases: what each allocates, how that is filled, and what it launches.
//   program list            a line of JSON a case
//   program run NAME        once, for the virtual GPU to model
//   program measure COUNT   every case COUNT times with a cold L2, a line of JSON a case
#pragma once

#include <cuda_fp16.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace bench {

enum class Fill {
  kZero,
  kFloats,
  kHalves,
  kBytes,
  kShuffled
};  // kShuffled: 0, 1, … as int32 in random order

struct Buffer {
  size_t bytes;
  Fill fill;
};

using Pointers = std::vector<void*>;

struct Case {
  std::string family, name;  // only cases of one family are compared
  std::vector<Buffer> buffers;
  std::function<void(const Pointers&)> run;
};

inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

inline uint32_t next_random(uint64_t& state) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return static_cast<uint32_t>(state >> 33);
}

inline std::vector<uint8_t> content(const Buffer& buffer) {
  std::vector<uint8_t> bytes(buffer.bytes, 0);
  uint64_t state = 42;
  if (buffer.fill == Fill::kFloats) {
    auto* at = reinterpret_cast<float*>(bytes.data());
    for (size_t i = 0; i < buffer.bytes / 4; ++i)
      at[i] = static_cast<float>(next_random(state) % 2048) / 1024.0f - 1.0f;
  } else if (buffer.fill == Fill::kHalves) {
    auto* at = reinterpret_cast<__half*>(bytes.data());
    for (size_t i = 0; i < buffer.bytes / 2; ++i)
      at[i] = __float2half(static_cast<float>(next_random(state) % 2048) / 1024.0f - 1.0f);
  } else if (buffer.fill == Fill::kBytes) {
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(next_random(state));
  } else if (buffer.fill == Fill::kShuffled) {
    auto* at = reinterpret_cast<int32_t*>(bytes.data());
    const size_t n = buffer.bytes / 4;
    std::iota(at, at + n, 0);
    for (size_t i = n; i > 1; --i) std::swap(at[i - 1], at[next_random(state) % i]);
  }
  return bytes;
}

inline Pointers allocate(const Case& c) {
  Pointers pointers;
  for (const Buffer& buffer : c.buffers) {
    void* device = nullptr;
    check(cudaMalloc(&device, buffer.bytes), "cudaMalloc");
    pointers.push_back(device);
    if (buffer.fill == Fill::kZero) {
      check(cudaMemset(device, 0, buffer.bytes), "cudaMemset");
      continue;
    }
    const std::vector<uint8_t> host = content(buffer);
    check(cudaMemcpy(device, host.data(), host.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  return pointers;
}

inline void release(const Pointers& pointers) {
  for (void* pointer : pointers) check(cudaFree(pointer), "cudaFree");
}

inline void run_once(const Case& c) {
  const Pointers pointers = allocate(c);
  c.run(pointers);
  check(cudaDeviceSynchronize(), c.name.c_str());
  release(pointers);
}

// Reads memory that nobody else uses, so that L2 holds nothing but clean lines of it.
static __global__ void fill_cache(const uint4* data, size_t count, int* never) {
  uint32_t sum = 0;
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count;
       i += size_t{gridDim.x} * blockDim.x)
    sum += data[i].x ^ data[i].w;
  if (sum == 0x12345678) *never = 1;
}

// Memory for emptying L2: one half is written, then the other is read.
struct Flush {
  static constexpr size_t kBytes = 256u << 20;
  char* memory = nullptr;

  Flush() {
    check(cudaMalloc(&memory, 2 * kBytes), "cudaMalloc");
    check(cudaMemset(memory, 0, 2 * kBytes), "cudaMemset");
  }
  Flush(const Flush&) = delete;
  Flush& operator=(const Flush&) = delete;
  ~Flush() { cudaFree(memory); }

  // As the grader does it: what the write left in L2 would be written out in the timed region. It takes long
  // enough for the launches to queue up behind it.
  void operator()() const {
    check(cudaMemsetAsync(memory, 0x5a, kBytes), "cudaMemsetAsync");
    fill_cache<<<1024, 256>>>(reinterpret_cast<const uint4*>(memory + kBytes), kBytes / sizeof(uint4),
                              reinterpret_cast<int*>(memory));
  }
};

inline void measure(const Case& c, int count, const Flush& flush) {
  const Pointers pointers = allocate(c);
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  std::printf("{\"family\": \"%s\", \"name\": \"%s\", \"microseconds\": [", c.family.c_str(), c.name.c_str());
  constexpr int kWarmUp = 3;
  for (int i = -kWarmUp; i < count; ++i) {
    flush();
    check(cudaEventRecord(begin), "cudaEventRecord");
    c.run(pointers);
    check(cudaEventRecord(end), "cudaEventRecord");
    check(cudaDeviceSynchronize(), c.name.c_str());
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
    if (i >= 0) std::printf("%s%.3f", i ? ", " : "", static_cast<double>(milliseconds) * 1e3);
  }
  std::printf("]}\n");
  std::fflush(stdout);
  check(cudaEventDestroy(begin), "cudaEventDestroy");
  check(cudaEventDestroy(end), "cudaEventDestroy");
  release(pointers);
}

inline int main_of(int argc, char** argv, const std::vector<Case>& cases) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "list") {
    for (const Case& c : cases)
      std::printf("{\"family\": \"%s\", \"name\": \"%s\"}\n", c.family.c_str(), c.name.c_str());
    return 0;
  }
  if (verb == "run" && argc > 2) {
    for (const Case& c : cases)
      if (c.name == argv[2]) return run_once(c), 0;
    std::fprintf(stderr, "there is no case %s; `list` names them\n", argv[2]);
    return 2;
  }
  if (verb == "measure") {
    const Flush flush;
    for (const Case& c : cases) measure(c, argc > 2 ? std::atoi(argv[2]) : 60, flush);
    return 0;
  }
  std::fprintf(stderr, "usage: %s list | run NAME | measure [COUNT]\n", argv[0]);
  return 2;
}

inline unsigned blocks_for(size_t items, size_t per_block) {
  return static_cast<unsigned>((items + per_block - 1) / per_block);
}

}  // namespace bench
