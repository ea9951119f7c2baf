// What every program in this folder shares: checked CUDA calls, device memory that frees itself, repeatable
// inputs, and a report that compares device results with a host reference and prints digests of them.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <vector>

#define CUDA_OK(call) check_cuda((call), #call, __FILE__, __LINE__)

inline void check_cuda(cudaError_t status, const char* expression, const char* file, int line) {
  if (status == cudaSuccess) return;
  std::printf("%s:%d: %s gave %s (%s), expected cudaSuccess\n", file, line, expression,
              cudaGetErrorName(status), cudaGetErrorString(status));
  std::exit(1);
}

// Use after a <<<>>> launch: the first call reports a refused launch, the second a fault while running.
inline void check_launch(const char* file, int line) {
  check_cuda(cudaGetLastError(), "the launch", file, line);
  check_cuda(cudaDeviceSynchronize(), "the kernel", file, line);
}
#define LAUNCHED_OK() check_launch(__FILE__, __LINE__)

template <typename T>
class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t count) : count_(count) { CUDA_OK(cudaMalloc(&data_, count * sizeof(T))); }
  explicit DeviceBuffer(const std::vector<T>& host) : DeviceBuffer(host.size()) { upload(host); }
  ~DeviceBuffer() { CUDA_OK(cudaFree(data_)); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  T* get() const { return data_; }
  size_t count() const { return count_; }
  size_t bytes() const { return count_ * sizeof(T); }

  void upload(const std::vector<T>& host) {
    CUDA_OK(cudaMemcpy(data_, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  std::vector<T> download() const {
    std::vector<T> host(count_);
    CUDA_OK(cudaMemcpy(host.data(), data_, bytes(), cudaMemcpyDeviceToHost));
    return host;
  }
  void fill_bytes(int value) { CUDA_OK(cudaMemset(data_, value, bytes())); }

 private:
  T* data_ = nullptr;
  size_t count_;
};

// splitmix64: the same sequence on every machine and standard library.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next64() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  uint32_t next32() { return static_cast<uint32_t>(next64() >> 32); }
  int below(int limit) { return static_cast<int>(next64() % static_cast<uint64_t>(limit)); }
  // Exact in float: 24 random bits scaled by a power of two, then one rounded multiply and add.
  // A host compiler that has a fused instruction for both must not use it.
  float uniform(float low, float high) {
    const volatile float scaled = (high - low) * (static_cast<float>(next32() >> 8) * 0x1p-24f);
    return low + scaled;
  }

 private:
  uint64_t state_;
};

// One column per input, one row per operation; device and host fill it in the same order.
template <typename T>
struct Column {
  T* data;
  int count;
  int index;
  __host__ __device__ void put(T value) {
    data[index] = value;
    index += count;
  }
};

template <typename To, typename From>
To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "bit_cast keeps the size");
  To to;
  std::memcpy(&to, &from, sizeof(To));
  return to;
}

class Report {
 public:
  explicit Report(const char* program) : program_(program) {}

  void check(bool good, const char* what) {
    if (!good && failures_++ == 0) std::printf("%s: %s does not hold\n", program_, what);
  }

  // Bit for bit, except that any NaN equals any other: payloads are the device's own affair.
  template <typename T>
  void equal(const char* what, const std::vector<T>& got, const std::vector<T>& want) {
    static_assert(std::is_trivially_copyable<T>::value, "compared and digested as bytes");
    check(got.size() == want.size(), what);
    uint64_t digest = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < got.size() && i < want.size(); ++i) {
      const T g = canonical(got[i]), w = canonical(want[i]);
      digest = fnv1a(digest, &g, sizeof(T));
      if (std::memcmp(&g, &w, sizeof(T)) != 0 && failures_++ == 0) {
        std::printf("%s: %s[%zu] is %s, expected %s\n", program_, what, i, Text(g).chars, Text(w).chars);
      }
    }
    std::printf("digest %s %016llx\n", what, static_cast<unsigned long long>(digest));
  }

  // |got - want| <= absolute + relative * |want|; infinities and NaNs must match.
  template <typename T>
  void near(const char* what, const std::vector<T>& got, const std::vector<double>& want, double relative,
            double absolute) {
    check(got.size() == want.size(), what);
    for (size_t i = 0; i < got.size() && i < want.size(); ++i) {
      const double g = static_cast<double>(got[i]), w = want[i];
      const bool both_nan = std::isnan(g) && std::isnan(w);
      const bool close = g == w || std::fabs(g - w) <= absolute + relative * std::fabs(w);
      if (!both_nan && !(close && std::isfinite(w) == std::isfinite(g)) && failures_++ == 0) {
        std::printf("%s: %s[%zu] is %.9g, expected %.9g within %.1e relative + %.1e\n", program_, what, i, g,
                    w, relative, absolute);
      }
    }
  }

  int finish() {
    CUDA_OK(cudaDeviceSynchronize());
    CUDA_OK(cudaGetLastError());
    if (failures_ == 0) {
      std::printf("%s: ok\n", program_);
    } else {
      std::printf("%s: %d mismatches\n", program_, failures_);
    }
    return failures_ == 0 ? 0 : 1;
  }

 private:
  template <typename T>
  static T canonical(T value) {
    if constexpr (std::is_floating_point<T>::value) {
      if (std::isnan(value)) return bit_cast<T>(NanBits<T>::bits);
    }
    return value;
  }

  template <typename T>
  struct NanBits {
    static constexpr std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t> bits =
        sizeof(T) == 4 ? 0x7fc00000u : 0x7ff8000000000000ull;
  };

  static uint64_t fnv1a(uint64_t digest, const void* bytes, size_t count) {
    const unsigned char* p = static_cast<const unsigned char*>(bytes);
    for (size_t i = 0; i < count; ++i) digest = (digest ^ p[i]) * 0x100000001b3ull;
    return digest;
  }

  // Hexadecimal bytes, most significant first, and the value where the type has one.
  struct Text {
    char chars[96];
    template <typename T>
    explicit Text(const T& value) {
      unsigned char bytes[sizeof(T)];
      std::memcpy(bytes, &value, sizeof(T));
      int at = std::snprintf(chars, sizeof chars, "0x");
      for (size_t i = 0; i < sizeof(T) && at < 64; ++i) {
        at += std::snprintf(chars + at, sizeof chars - at, "%02x", bytes[sizeof(T) - 1 - i]);
      }
      if constexpr (std::is_arithmetic<T>::value) {
        std::snprintf(chars + at, sizeof chars - at, " (%.9g)", static_cast<double>(value));
      }
    }
  };

  const char* program_;
  int failures_ = 0;
};

inline int blocks_for(int count, int threads) {
  return (count + threads - 1) / threads;
}
