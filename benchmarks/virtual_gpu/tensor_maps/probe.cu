// What tensor maps do on this device, case by case: which bytes of a tensor lie where in shared memory after
// a copy, and which maps and copies are refused.
//   probe CASES [FIRST]    the cases of a file, a line of words key=value each, from line FIRST on
// Prints the number of each line and what came of it. Ends after a case that ends the context: call it again
// with the next line. cases.txt explains the words, record.py makes the record of a GPU.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using Tiled = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                           const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                           CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
using Im2col = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                            const cuuint64_t*, const int*, const int*, cuuint32_t, cuuint32_t,
                            const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                            CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

constexpr int kShared = 16 << 10, kWords = 1 << 16, kBaseByte = 1 << 16, kThreads = 64;
constexpr uint32_t kUntouched = 0xeeeeeeee;

enum Operation { kLoad, kStore, kReduce, kPrefetch, kEncode };
// That the kernel replaces. The last four have an ordinal each.
enum Field {
  kElementType = 1,
  kInterleave = 2,
  kSwizzle = 4,
  kFill = 8,
  kAddress = 16,
  kRank = 32,
  kBox = 1 << 8,
  kSize = 1 << 13,
  kStep = 1 << 18,
  kStride = 1 << 23
};

struct Arguments {
  int rank, im2col, operation, at[5], offset[3];
  int fields, element_type, interleave, swizzle, fill, rank_minus_1;
  unsigned long long address, stride[4];
  uint32_t box[5], size[5], step[5];
  uint32_t expect;  // bytes; 0: the kernel waits for a while instead
  uint32_t to;      // offset in shared memory
};

#define LOAD(form, mode, coordinates, offsets)                                                            \
  asm volatile("cp.async.bulk.tensor." form ".shared::cluster.global." mode                               \
               ".mbarrier::complete_tx::bytes [%0], [%1, {" coordinates "}], [%2]" offsets ";" ::"r"(to), \
               "l"(map), "r"(bar), "r"(a.at[0]), "r"(a.at[1]), "r"(a.at[2]), "r"(a.at[3]), "r"(a.at[4]),  \
               "h"(o0), "h"(o1), "h"(o2)                                                                  \
               : "memory")
#define WRITE(what, form, mode, coordinates)                                                  \
  asm volatile(what "." form ".global.shared::cta" mode ".bulk_group [%1, {" coordinates      \
                    "}], [%0];" ::"r"(to),                                                    \
               "l"(map), "r"(a.at[0]), "r"(a.at[1]), "r"(a.at[2]), "r"(a.at[3]), "r"(a.at[4]) \
               : "memory")
#define STORE(form, mode, coordinates) WRITE("cp.async.bulk.tensor", form, "." mode, coordinates)
#define REDUCE(form, mode, coordinates) WRITE("cp.reduce.async.bulk.tensor", form, ".add." mode, coordinates)
#define PREFETCH(form, coordinates, offsets)                                                             \
  asm volatile("cp.async.bulk.prefetch.tensor." form ".L2.global.im2col [%1, {" coordinates "}]" offsets \
               ";" ::"r"(to),                                                                            \
               "l"(map), "r"(bar), "r"(a.at[0]), "r"(a.at[1]), "r"(a.at[2]), "r"(a.at[3]), "r"(a.at[4]), \
               "h"(o0), "h"(o1), "h"(o2)                                                                 \
               : "memory")

__device__ void load(const Arguments& a, const CUtensorMap* map, uint32_t to, uint32_t bar) {
  const short o0 = static_cast<short>(a.offset[0]), o1 = static_cast<short>(a.offset[1]),
              o2 = static_cast<short>(a.offset[2]);
  if (a.im2col) {
    if (a.rank == 3) LOAD("3d", "im2col", "%3, %4, %5", ", {%8}");
    if (a.rank == 4) LOAD("4d", "im2col", "%3, %4, %5, %6", ", {%8, %9}");
    if (a.rank == 5) LOAD("5d", "im2col", "%3, %4, %5, %6, %7", ", {%8, %9, %10}");
  } else {
    if (a.rank == 1) LOAD("1d", "tile", "%3", "");
    if (a.rank == 2) LOAD("2d", "tile", "%3, %4", "");
    if (a.rank == 3) LOAD("3d", "tile", "%3, %4, %5", "");
    if (a.rank == 4) LOAD("4d", "tile", "%3, %4, %5, %6", "");
    if (a.rank == 5) LOAD("5d", "tile", "%3, %4, %5, %6, %7", "");
  }
}

__device__ void prefetch(const Arguments& a, const CUtensorMap* map, uint32_t to, uint32_t bar) {
  const short o0 = static_cast<short>(a.offset[0]), o1 = static_cast<short>(a.offset[1]),
              o2 = static_cast<short>(a.offset[2]);
  if (a.rank == 3) PREFETCH("3d", "%3, %4, %5", ", {%8}");
  if (a.rank == 4) PREFETCH("4d", "%3, %4, %5, %6", ", {%8, %9}");
  if (a.rank == 5) PREFETCH("5d", "%3, %4, %5, %6, %7", ", {%8, %9, %10}");
}

__device__ void store(const Arguments& a, const CUtensorMap* map, uint32_t to) {
  if (a.im2col) {
    if (a.rank == 3) STORE("3d", "im2col_no_offs", "%2, %3, %4");
    if (a.rank == 4) STORE("4d", "im2col_no_offs", "%2, %3, %4, %5");
    if (a.rank == 5) STORE("5d", "im2col_no_offs", "%2, %3, %4, %5, %6");
  } else {
    if (a.rank == 2) STORE("2d", "tile", "%2, %3");
    if (a.rank == 3) STORE("3d", "tile", "%2, %3, %4");
    if (a.rank == 4) STORE("4d", "tile", "%2, %3, %4, %5");
  }
}

__device__ void reduce(const Arguments& a, const CUtensorMap* map, uint32_t to) {
  if (a.im2col) {
    if (a.rank == 3) REDUCE("3d", "im2col_no_offs", "%2, %3, %4");
    if (a.rank == 4) REDUCE("4d", "im2col_no_offs", "%2, %3, %4, %5");
  } else if (a.rank == 3) {
    REDUCE("3d", "tile", "%2, %3, %4");
  }
}

// The values are part of the instruction, so that each has one of its own.
#define REPLACE(name, field, given, value)                                                          \
  if ((a.fields & field) && given == value)                                                         \
  asm volatile("tensormap.replace.tile." name ".shared::cta.b1024.b32 [%0], " #value ";" ::"r"(map) \
               : "memory")

__device__ void replace_fields(const Arguments& a, uint32_t map) {
#define TYPE(value) REPLACE("elemtype", kElementType, a.element_type, value)
  TYPE(0);
  TYPE(1);
  TYPE(2);
  TYPE(3);
  TYPE(4);
  TYPE(5);
  TYPE(6);
  TYPE(7);
  TYPE(8);
  TYPE(9);
  TYPE(10);
  TYPE(11);
  TYPE(12);
  REPLACE("interleave_layout", kInterleave, a.interleave, 0);
  REPLACE("interleave_layout", kInterleave, a.interleave, 1);
  REPLACE("interleave_layout", kInterleave, a.interleave, 2);
  REPLACE("swizzle_mode", kSwizzle, a.swizzle, 0);
  REPLACE("swizzle_mode", kSwizzle, a.swizzle, 1);
  REPLACE("swizzle_mode", kSwizzle, a.swizzle, 2);
  REPLACE("swizzle_mode", kSwizzle, a.swizzle, 3);
  REPLACE("fill_mode", kFill, a.fill, 0);
  REPLACE("fill_mode", kFill, a.fill, 1);
  if (a.fields & kAddress)
    asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(map),
                 "l"(a.address)
                 : "memory");
  if (a.fields & kRank)
    asm volatile("tensormap.replace.tile.rank.shared::cta.b1024.b32 [%0], %1;" ::"r"(map), "r"(a.rank_minus_1)
                 : "memory");
#define REPLACE_AT(name, field, type, constraint, values, at)                                              \
  if (a.fields & (field << at))                                                                            \
  asm volatile("tensormap.replace.tile." name ".shared::cta.b1024." type " [%0], " #at ", %1;" ::"r"(map), \
               constraint(values[at])                                                                      \
               : "memory")
  REPLACE_AT("box_dim", kBox, "b32", "r", a.box, 0);
  REPLACE_AT("box_dim", kBox, "b32", "r", a.box, 1);
  REPLACE_AT("box_dim", kBox, "b32", "r", a.box, 2);
  REPLACE_AT("box_dim", kBox, "b32", "r", a.box, 3);
  REPLACE_AT("box_dim", kBox, "b32", "r", a.box, 4);
  REPLACE_AT("global_dim", kSize, "b32", "r", a.size, 0);
  REPLACE_AT("global_dim", kSize, "b32", "r", a.size, 1);
  REPLACE_AT("global_dim", kSize, "b32", "r", a.size, 2);
  REPLACE_AT("global_dim", kSize, "b32", "r", a.size, 3);
  REPLACE_AT("global_dim", kSize, "b32", "r", a.size, 4);
  REPLACE_AT("element_stride", kStep, "b32", "r", a.step, 0);
  REPLACE_AT("element_stride", kStep, "b32", "r", a.step, 1);
  REPLACE_AT("element_stride", kStep, "b32", "r", a.step, 2);
  REPLACE_AT("element_stride", kStep, "b32", "r", a.step, 3);
  REPLACE_AT("element_stride", kStep, "b32", "r", a.step, 4);
  REPLACE_AT("global_stride", kStride, "b64", "l", a.stride, 0);
  REPLACE_AT("global_stride", kStride, "b64", "l", a.stride, 1);
  REPLACE_AT("global_stride", kStride, "b64", "l", a.stride, 2);
  REPLACE_AT("global_stride", kStride, "b64", "l", a.stride, 3);
}

__global__ void copy(const __grid_constant__ CUtensorMap given, CUtensorMap* made, const Arguments a,
                     uint32_t* out, uint32_t* done) {
  extern __shared__ __align__(1024) uint32_t tile[];
  __shared__ __align__(128) CUtensorMap changed;
  __shared__ uint64_t barrier;
  const uint32_t to = static_cast<uint32_t>(__cvta_generic_to_shared(tile)) + a.to;
  const uint32_t bar = static_cast<uint32_t>(__cvta_generic_to_shared(&barrier));
  const uint32_t scratch = static_cast<uint32_t>(__cvta_generic_to_shared(&changed));
  const bool loads = a.operation == kLoad;
  for (int i = static_cast<int>(threadIdx.x); i < kShared / 4; i += kThreads)
    tile[i] = loads ? kUntouched : static_cast<uint32_t>(i) + 1;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const CUtensorMap* map = &given;
  if (a.fields != 0) {
    if (threadIdx.x == 0) {
      changed = given;
      replace_fields(a, scratch);
    }
    __syncwarp();
    if (threadIdx.x < 32) {
      asm volatile(
          "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], "
          "[%1], "
          "128;" ::"l"(made),
          "r"(scratch)
          : "memory");
      asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(made) : "memory");
    }
    map = made;
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    uint32_t finished = 1;
    if (a.expect != 0)
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(a.expect)
                   : "memory");
    if (loads) load(a, map, to, bar);
    if (a.operation == kPrefetch) prefetch(a, map, to, bar);
    if (a.operation == kStore) store(a, map, to);
    if (a.operation == kReduce) reduce(a, map, to);
    if (!loads) {
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    } else if (a.expect != 0) {
      finished = 0;
      for (int i = 0; i < 2000 && finished == 0; ++i)
        asm volatile(
            "{\n.reg .pred p;\nmbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0;\nselp.u32 %0, 1, 0, "
            "p;\n}"
            : "=r"(finished)
            : "r"(bar)
            : "memory");
    } else {
      constexpr long long kCycles = 400000;
      const long long begin = clock64();
      while (clock64() - begin < kCycles) {
      }
    }
    *done = finished;
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kShared / 4; i += kThreads) out[i] = tile[i];
}

struct Case {
  std::map<std::string, std::string> words;

  explicit Case(const std::string& line) {
    std::stringstream in(line);
    for (std::string w; in >> w;) words[w.substr(0, w.find('='))] = w.substr(w.find('=') + 1);
  }
  bool has(const char* key) const { return words.count(key) != 0; }
  std::string text(const char* key) const { return has(key) ? words.at(key) : ""; }

  template <class T = int>
  std::vector<T> list(const char* key, size_t count = 0, long long fill = 0) const {
    std::vector<T> values;
    std::stringstream in(text(key));
    for (std::string item; std::getline(in, item, ',');)
      values.push_back(static_cast<T>(std::stoll(item, nullptr, 0)));
    if (count > 0) values.resize(count, static_cast<T>(fill));
    return values;
  }
  int one(const char* key, int fill = 0) const { return list<int>(key, 1, fill)[0]; }
  // "rb=1:5,3:7" puts 5 in place of the second and 7 in place of the fourth.
  template <class T>
  int replaced(const char* key, int field, T* values) const {
    int fields = 0;
    std::stringstream in(text(key));
    for (std::string item; std::getline(in, item, ',');) {
      const size_t colon = item.find(':');
      const int at = std::stoi(item.substr(0, colon));
      values[at] = static_cast<T>(std::stoull(item.substr(colon + 1), nullptr, 0));
      fields |= field << at;
    }
    return fields;
  }
  int rank() const { return one("r", static_cast<int>(list<long long>("s").size())); }
  Operation operation() const {
    const std::string op = text("op");
    return op == "store"      ? kStore
           : op == "reduce"   ? kReduce
           : op == "prefetch" ? kPrefetch
           : op == "encode"   ? kEncode
                              : kLoad;
  }
};

template <class F>
F driver(const char* name) {
  void* f = nullptr;
  cudaDriverEntryPointQueryResult found;
  const cudaError_t e = cudaGetDriverEntryPointByVersion(name, &f, 12000, cudaEnableDefault, &found);
  if (e != cudaSuccess || found != cudaDriverEntryPointSuccess) {
    std::printf("there is no %s\n", name);
    std::exit(2);
  }
  return reinterpret_cast<F>(f);
}

int encode(const Case& k, CUtensorMap* map, uint32_t* memory) {
  const auto sizes = k.list<cuuint64_t>("s", 6, 1), strides = k.list<cuuint64_t>("st", 6, 16);
  const auto box = k.list<cuuint32_t>("box", 6, 1), steps = k.list<cuuint32_t>("es", 6, 1);
  const auto lower = k.list("lo", 4), upper = k.list("up", 4);
  const std::string null = k.text("null");
  auto unless_null = [&](const char* name, auto* pointer) { return null == name ? nullptr : pointer; };
  void* base = unless_null("base", reinterpret_cast<char*>(memory) + kBaseByte + k.one("b"));
  map = unless_null("map", reinterpret_cast<CUtensorMap*>(reinterpret_cast<char*>(map) + k.one("mapoff")));
  const auto type = static_cast<CUtensorMapDataType>(k.one("t", CU_TENSOR_MAP_DATA_TYPE_FLOAT16));
  const auto interleave = static_cast<CUtensorMapInterleave>(k.one("il"));
  const auto swizzle = static_cast<CUtensorMapSwizzle>(k.one("sw"));
  const auto promotion = static_cast<CUtensorMapL2promotion>(k.one("l2"));
  const auto fill = static_cast<CUtensorMapFloatOOBfill>(k.one("f"));
  const auto rank = static_cast<cuuint32_t>(k.rank());
  if (k.one("m") == 0)
    return driver<Tiled>("cuTensorMapEncodeTiled")(
        map, type, rank, base, unless_null("sizes", sizes.data()), unless_null("strides", strides.data()),
        unless_null("box", box.data()), unless_null("steps", steps.data()), interleave, swizzle, promotion,
        fill);
  return driver<Im2col>("cuTensorMapEncodeIm2col")(
      map, type, rank, base, unless_null("sizes", sizes.data()), unless_null("strides", strides.data()),
      unless_null("lower", lower.data()), unless_null("upper", upper.data()),
      static_cast<cuuint32_t>(k.one("ch", 16)), static_cast<cuuint32_t>(k.one("px", 8)),
      unless_null("steps", steps.data()), interleave, swizzle, promotion, fill);
}

// Places of 16 bytes, where runs are one word: "4" is the tensor's fifth, "4-7" four of them, "z" zeros, "."
// what was not touched, "[…]" four words of other contents.
class Chunks {
 public:
  void add(const uint32_t* w, int origin) {
    const bool counts = w[1] == w[0] + 1 && w[2] == w[0] + 2 && w[3] == w[0] + 3 && (w[0] - 1) % 4 == 0;
    const bool same = w[1] == w[0] && w[2] == w[0] && w[3] == w[0];
    char text[64];
    if (counts) {
      const int at = static_cast<int>((w[0] - 1) / 4) - origin;
      if (is_run_ && at == last_ + 1) {
        ++last_;
        return;
      }
      flush();
      is_run_ = true;
      first_ = last_ = at;
      return;
    }
    if (same)
      std::snprintf(text, sizeof text, "%x", w[0]);
    else
      std::snprintf(text, sizeof text, "[%x,%x,%x,%x]", w[0], w[1], w[2], w[3]);
    const std::string name = same && w[0] == 0 ? "z" : same && w[0] == kUntouched ? "." : text;
    if (!is_run_ && name == name_) {
      ++repeats_;
      return;
    }
    flush();
    name_ = name;
    repeats_ = 1;
  }
  // Without the untouched ones at the end.
  std::string text() {
    if (is_run_ || name_ != ".") flush();
    return text_;
  }

 private:
  void flush() {
    if (is_run_)
      text_ += " " + std::to_string(first_) + (last_ > first_ ? "-" + std::to_string(last_) : "");
    else if (repeats_ > 0)
      text_ += " " + name_ + (repeats_ > 1 ? "*" + std::to_string(repeats_) : "");
    is_run_ = false;
    repeats_ = 0;
    name_.clear();
  }
  bool is_run_ = false;
  int first_ = 0, last_ = 0, repeats_ = 0;
  std::string name_, text_;
};

// "3<-0*4": the third place of the tensor and three after it have what lay first in shared memory and after
// it.
std::string stored(const std::vector<uint32_t>& memory, uint32_t untouched) {
  std::string text;
  long long to = 0, from = 0, count = 0;
  auto flush = [&] {
    if (count > 0)
      text += " " + std::to_string(to) + "<-" + std::to_string(from) +
              (count > 1 ? "*" + std::to_string(count) : "");
    count = 0;
  };
  for (size_t i = 0; i + 4 <= memory.size(); i += 4) {
    const uint32_t* w = &memory[i];
    if (w[0] == untouched && w[1] == untouched && w[2] == untouched && w[3] == untouched) continue;
    const long long at = static_cast<long long>(i / 4) - kBaseByte / 16;
    const long long source = (static_cast<long long>(w[0]) - 1) / 4;
    const bool whole = w[1] == w[0] + 1 && w[2] == w[0] + 2 && w[3] == w[0] + 3 && (w[0] - 1) % 4 == 0;
    if (whole && count > 0 && at == to + count && source == from + count) {
      ++count;
      continue;
    }
    flush();
    if (whole) {
      to = at;
      from = source;
      count = 1;
    } else {
      text += " " + std::to_string(at) + "<-parts";
    }
  }
  flush();
  return text;
}

struct Device {
  uint32_t *memory = nullptr, *out = nullptr, *done = nullptr;
  CUtensorMap* made = nullptr;

  Device() {
    cudaMalloc(&memory, kWords * 4);
    cudaMalloc(&out, kShared);
    cudaMalloc(&done, sizeof *done);
    cudaMalloc(&made, sizeof *made);
  }

  void prepare(const Case& k) const {
    std::vector<uint32_t> host(kWords);
    const auto values = k.list<uint32_t>("value");
    for (uint32_t i = 0; i < kWords; ++i)
      host[i] = !values.empty()            ? values[i % values.size()]
                : k.operation() == kStore  ? kUntouched
                : k.operation() == kReduce ? 0
                                           : i + 1;
    cudaMemcpy(memory, host.data(), kWords * 4, cudaMemcpyHostToDevice);
    cudaMemset(done, 0, sizeof *done);
  }

  // The contents of shared memory afterwards; empty where the kernel failed.
  std::vector<uint32_t> run(const CUtensorMap& map, const Arguments& a, cudaError_t* error,
                            bool* finished) const {
    copy<<<1, kThreads, kShared>>>(map, made, a, out, done);
    *error = cudaGetLastError();
    if (*error == cudaSuccess) *error = cudaDeviceSynchronize();
    if (*error != cudaSuccess) return {};
    std::vector<uint32_t> shared(kShared / 4);
    uint32_t flag = 0;
    cudaMemcpy(shared.data(), out, kShared, cudaMemcpyDeviceToHost);
    cudaMemcpy(&flag, done, sizeof flag, cudaMemcpyDeviceToHost);
    *finished = flag != 0;
    return shared;
  }
};

Arguments arguments_of(const Case& k, const uint32_t* memory) {
  Arguments a{};
  a.rank = k.one("ir", k.one("rr", k.rank()));
  a.im2col = k.one("im", k.one("m"));
  a.operation = k.operation();
  for (int i = 0; i < 5; ++i) a.at[i] = k.list("c", 5)[static_cast<size_t>(i)];
  for (int i = 0; i < 3; ++i) a.offset[i] = k.list("o", 3)[static_cast<size_t>(i)];
  a.to = static_cast<uint32_t>(k.one("at"));
  a.fields = (k.has("re") ? kElementType : 0) | (k.has("ri") ? kInterleave : 0) |
             (k.has("rs") ? kSwizzle : 0) | (k.has("rf") ? kFill : 0);
  a.element_type = k.one("re");
  a.interleave = k.one("ri");
  a.swizzle = k.one("rs");
  a.fill = k.one("rf");
  if (k.has("ra")) a.fields |= kAddress;
  if (k.has("rr")) a.fields |= kRank;
  a.address = reinterpret_cast<unsigned long long>(memory) + kBaseByte + static_cast<long long>(k.one("ra"));
  a.rank_minus_1 = k.one("rr") - 1;
  a.fields |= k.replaced("rb", kBox, a.box) | k.replaced("rd", kSize, a.size) |
              k.replaced("rx", kStep, a.step) | k.replaced("rt", kStride, a.stride);
  a.expect = static_cast<uint32_t>(k.one("expect"));
  return a;
}

// What comes of a case; false: no other can run in this process.
bool answer(const Case& k, const Device& device) {
  alignas(64) CUtensorMap maps[2];
  const int code = encode(k, maps, device.memory);
  if (code != 0 || k.operation() == kEncode) {
    std::printf("encode %d\n", code);
    return true;
  }
  device.prepare(k);
  Arguments a = arguments_of(k, device.memory);
  cudaError_t error = cudaSuccess;
  bool finished = false;
  std::vector<uint32_t> shared;
  uint32_t touched = a.expect;
  if (a.operation == kLoad && touched == 0) {  // how many bytes come is to be seen first
    shared = device.run(maps[0], a, &error, &finished);
    for (const uint32_t word : shared) touched += word != kUntouched ? 4 : 0;
    a.expect = touched;
  }
  if (error == cudaSuccess) shared = device.run(maps[0], a, &error, &finished);
  if (error != cudaSuccess) {
    std::printf("error %d\n", error);
    return false;
  }
  if (!finished) {
    std::printf("the barrier does not complete with %u bytes\n", touched);
    return true;
  }
  if (a.operation == kLoad) {
    Chunks chunks;
    for (size_t i = 0; i < shared.size(); i += 4) chunks.add(&shared[i], kBaseByte / 16);
    std::printf("%u bytes:%s\n", touched, chunks.text().c_str());
    return true;
  }
  std::vector<uint32_t> memory(kWords);
  cudaMemcpy(memory.data(), device.memory, kWords * 4, cudaMemcpyDeviceToHost);
  if (a.operation == kPrefetch)
    std::printf("done\n");
  else
    std::printf("stored:%s\n", stored(memory, a.operation == kStore ? kUntouched : 0).c_str());
  return true;
}

int main(int count, char** arguments) {
  if (count < 2) {
    std::printf("usage: %s CASES [FIRST]\n", arguments[0]);
    return 2;
  }
  const int first = count > 2 ? std::atoi(arguments[2]) : 0;
  std::ifstream in(arguments[1]);
  const Device device;
  int number = 0;
  for (std::string line; std::getline(in, line); ++number) {
    if (number < first || line.empty() || line[0] == '#') continue;
    std::printf("%d ", number);
    const bool goes_on = answer(Case(line), device);
    std::fflush(stdout);
    if (!goes_on) return 0;
  }
  return 0;
}
