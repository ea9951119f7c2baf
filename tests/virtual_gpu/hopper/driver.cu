// Runs cases that a test has drawn: boxes of tensors, wgmma descriptors, or operations of an mbarrier. The
// first argument says which, the second names a file of 32-bit words; results go to stdout as bytes.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "../../../benchmarks/virtual_gpu/hopper/pixels.cuh"
#include "../../../benchmarks/virtual_gpu/hopper/wgmma.cuh"

using namespace hopper;

constexpr int kSharedBytes = 64 << 10;

std::vector<uint32_t> read_words(const char* path) {
  std::FILE* file = std::fopen(path, "rb");
  std::vector<uint32_t> words;
  uint32_t word;
  while (std::fread(&word, 4, 1, file) == 1) words.push_back(word);
  std::fclose(file);
  return words;
}

template <class T>
void write_out(const DeviceBuffer<T>& buffer, size_t count) {
  std::fwrite(buffer.download().data(), sizeof(T), count, stdout);
}

struct Place {
  int rank, at[5], im2col;
  short offset[3];
};

__global__ void fetch_box(const __grid_constant__ CUtensorMap map, Place p, uint32_t bytes, uint32_t reach,
                          uint8_t* out) {
  extern __shared__ __align__(1024) uint8_t tile[];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
  }
  for (uint32_t i = threadIdx.x; i < reach; i += blockDim.x) tile[i] = 0xee;
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    arrive_expect(&barrier, bytes);
    const uint32_t to = shared_address(tile), bar = shared_address(&barrier);
#define FETCH(form, names, offsets)                                                                       \
  asm volatile("cp.async.bulk.tensor." form ".mbarrier::complete_tx::bytes [%0], [%1, {" names            \
               "}], [%2]" offsets ";" ::"r"(to),                                                          \
               "l"(&map), "r"(bar), "r"(p.at[0]), "r"(p.at[1]), "r"(p.at[2]), "r"(p.at[3]), "r"(p.at[4]), \
               "h"(p.offset[0]), "h"(p.offset[1]), "h"(p.offset[2])                                       \
               : "memory")
    if (p.im2col) {
      if (p.rank == 3) FETCH("3d.shared::cluster.global.im2col", "%3, %4, %5", ", {%8}");
      if (p.rank == 4) FETCH("4d.shared::cluster.global.im2col", "%3, %4, %5, %6", ", {%8, %9}");
      if (p.rank == 5) FETCH("5d.shared::cluster.global.im2col", "%3, %4, %5, %6, %7", ", {%8, %9, %10}");
    } else {
      if (p.rank == 1) FETCH("1d.shared::cluster.global", "%3", "");
      if (p.rank == 2) FETCH("2d.shared::cluster.global", "%3, %4", "");
      if (p.rank == 3) FETCH("3d.shared::cluster.global", "%3, %4, %5", "");
      if (p.rank == 4) FETCH("4d.shared::cluster.global", "%3, %4, %5, %6", "");
      if (p.rank == 5) FETCH("5d.shared::cluster.global", "%3, %4, %5, %6, %7", "");
    }
#undef FETCH
  }
  wait(&barrier, 0);
  for (uint32_t i = threadIdx.x; i < reach; i += blockDim.x) out[i] = tile[i];
}

// A case: rank, element type, swizzle, interleave, whether im2col, bytes that come, bytes of shared memory to
// look at, bytes of the tensor; then 5 sizes, 4 strides, 5 of the box (of im2col channels and pixels), 5
// element strides, 5 coordinates, 3 lower corners, 3 upper, 3 offsets; then nothing else: byte i of the
// tensor is a hash of i.
void run_boxes(const std::vector<uint32_t>& words) {
  constexpr size_t kWords = 41;
  CUDA_OK(cudaFuncSetAttribute(fetch_box, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes));
  for (size_t at = 0; at + kWords <= words.size(); at += kWords) {
    const uint32_t* w = &words[at];
    const uint32_t rank = w[0], bytes = w[5], reach = w[6], tensor_bytes = w[7];
    std::vector<uint8_t> values(tensor_bytes);
    for (uint32_t i = 0; i < tensor_bytes; ++i) values[i] = static_cast<uint8_t>(i * 2654435761u >> 24);
    DeviceBuffer<uint8_t> tensor(values), out(reach);
    TensorLayout layout{static_cast<CUtensorMapDataType>(w[1]), {}, {}};
    layout.swizzle = static_cast<CUtensorMapSwizzle>(w[2]);
    layout.interleave = static_cast<CUtensorMapInterleave>(w[3]);
    const std::vector<cuuint32_t> box(w + 17, w + 17 + rank), steps(w + 22, w + 22 + rank);
    Place place{static_cast<int>(rank), {}, static_cast<int>(w[4]), {}};
    for (uint32_t i = 0; i < rank; ++i) {
      layout.sizes.push_back(w[8 + i]);
      if (i > 0) layout.strides.push_back(w[13 + i - 1]);
      place.at[i] = static_cast<int>(w[27 + i]);
    }
    for (int i = 0; i < 3; ++i) place.offset[i] = static_cast<short>(w[38 + i]);
    const std::vector<int> lower(w + 32, w + 35), upper(w + 35, w + 38);
    const CUtensorMap map = place.im2col
                                ? pixel_map(layout, tensor.get(), {lower, upper, w[17], w[18], steps})
                                : box_map(layout, tensor.get(), box, steps);
    fetch_box<<<1, 64, kSharedBytes>>>(map, place, bytes, reach, out.get());
    LAUNCHED_OK();
    write_out(out, reach);
  }
}

struct Matrix {
  uint32_t start, leading, stride, mode, base_offset, transposed;
  __device__ uint64_t in(const uint8_t* tile) const {
    return descriptor(tile + start, leading, stride, mode) | static_cast<uint64_t>(base_offset) << 49;
  }
};

enum Product { kHalves, kBits };

template <Product kProduct, int kTransA, int kTransB>
__global__ void multiply(const uint16_t* image, Matrix a, Matrix b, uint32_t* out) {
  extern __shared__ __align__(1024) uint8_t tile[];
  for (int i = threadIdx.x; i < kSharedBytes / 2; i += blockDim.x)
    reinterpret_cast<uint16_t*>(tile)[i] = image[i];
  fence_async();
  __syncthreads();
  uint32_t d[32];
  for (int i = 0; i < 32; ++i) d[i] = 0;
  const uint64_t first = a.in(tile), second = b.in(tile);
  products_fence();
  if constexpr (kProduct == kBits)
    WGMMA_32_S("m64n64k256.s32.b1.b1.and.popc", "", d, first, second, 0);
  else if constexpr (kTransA == 0 && kTransB == 0)
    WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 0, 0", d, first, second, 0);
  else if constexpr (kTransA == 0 && kTransB == 1)
    WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 0, 1", d, first, second, 0);
  else if constexpr (kTransA == 1 && kTransB == 0)
    WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 1, 0", d, first, second, 0);
  else
    WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 1, 1", d, first, second, 0);
  products_commit();
  products_wait();
  for (int i = 0; i < 32; ++i) out[threadIdx.x * 32 + i] = d[i];
}

// The image of shared memory, then pairs of matrices.
void run_descriptors(const std::vector<uint32_t>& words, Product product) {
  std::vector<uint16_t> image(kSharedBytes / 2);
  std::memcpy(image.data(), words.data(), kSharedBytes);
  DeviceBuffer<uint16_t> device(image);
  DeviceBuffer<uint32_t> out(128 * 32);
  const auto kernels = {multiply<kHalves, 0, 0>, multiply<kHalves, 0, 1>, multiply<kHalves, 1, 0>,
                        multiply<kHalves, 1, 1>, multiply<kBits, 0, 0>};
  for (const auto kernel : kernels)
    CUDA_OK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes));
  for (size_t at = kSharedBytes / 4; at + sizeof(Matrix) / 2 <= words.size(); at += sizeof(Matrix) / 2) {
    Matrix pair[2];
    std::memcpy(pair, &words[at], sizeof pair);
    const auto kernel = kernels.begin()[product == kBits ? 4 : pair[0].transposed * 2 + pair[1].transposed];
    kernel<<<1, 128, kSharedBytes>>>(device.get(), pair[0], pair[1], out.get());
    LAUNCHED_OK();
    write_out(out, 128 * 32);
  }
}

enum Step : uint32_t { kArrive, kDrop, kExpect, kComplete, kTestParity, kArriveExpect, kTestState };

__global__ void trace(const uint32_t* steps, int count, uint32_t arrivals, uint32_t* out) {
  __shared__ uint64_t barrier;
  barrier_init(&barrier, arrivals);
  const uint32_t at = shared_address(&barrier);
  uint64_t state = 0;
  for (int i = 0; i < count; ++i) {
    const uint32_t what = steps[2 * i], value = steps[2 * i + 1];
    uint32_t result = 0;
    if (what == kArrive)
      asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], %2;"
                   : "=l"(state)
                   : "r"(at), "r"(value)
                   : "memory");
    if (what == kDrop)
      asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory");
    if (what == kArriveExpect)
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 %0, [%1], %2;"
                   : "=l"(state)
                   : "r"(at), "r"(value)
                   : "memory");
    if (what == kArrive || what == kDrop || what == kArriveExpect)
      asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(result) : "l"(state));
    if (what == kExpect)
      asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(value)
                   : "memory");
    if (what == kComplete)
      asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(value)
                   : "memory");
    if (what == kTestParity)
      asm volatile(
          "{.reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
          : "=r"(result)
          : "r"(at), "r"(value)
          : "memory");
    if (what == kTestState)
      asm volatile("{.reg .pred p; mbarrier.test_wait.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                   : "=r"(result)
                   : "r"(at), "l"(state)
                   : "memory");
    out[i] = result;
  }
}

// Traces: arrivals of a phase, number of steps, then the steps.
void run_traces(const std::vector<uint32_t>& words) {
  for (size_t at = 0; at < words.size();) {
    const uint32_t arrivals = words[at], count = words[at + 1];
    const std::vector<uint32_t> steps(&words[at + 2], &words[at + 2] + 2 * count);
    DeviceBuffer<uint32_t> device(steps), out(count);
    trace<<<1, 1>>>(device.get(), static_cast<int>(count), arrivals, out.get());
    LAUNCHED_OK();
    write_out(out, count);
    at += 2 + 2 * count;
  }
}

int main(int, char** arguments) {
  const std::string what = arguments[1];
  const std::vector<uint32_t> words = read_words(arguments[2]);
  if (what == "boxes") run_boxes(words);
  if (what == "descriptors") run_descriptors(words, kHalves);
  if (what == "bits") run_descriptors(words, kBits);
  if (what == "traces") run_traces(words);
  return 0;
}
