// Tensor maps of the im2col kind, and copies with them, as the programs of this folder use them.
#pragma once

#include "tensor.cuh"

namespace hopper {

using EncodeIm2col = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                                  const cuuint64_t*, const int*, const int*, cuuint32_t, cuuint32_t,
                                  const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                                  CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

template <class F>
F driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  CUDA_OK(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess) {
    std::printf("there is no %s\n", name);
    std::exit(1);
  }
  return reinterpret_cast<F>(function);
}

// A tensor, the innermost dimension first; strides are bytes of the second dimension and up.
struct TensorLayout {
  CUtensorMapDataType type;
  std::vector<cuuint64_t> sizes, strides;
  CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
};

// The pixels that a copy takes: `count` of `channels` each, from a bounding box whose corners are given by
// their distance from those of the tensor, W first.
struct Pixels {
  std::vector<int> lower, upper;
  cuuint32_t channels, count;
  std::vector<cuuint32_t> steps = {};
};

inline CUtensorMap pixel_map(const TensorLayout& t, void* base, Pixels pixels) {
  pixels.steps.resize(t.sizes.size(), 1);
  CUtensorMap map;
  const CUresult result = driver_function<EncodeIm2col>("cuTensorMapEncodeIm2col")(
      &map, t.type, static_cast<cuuint32_t>(t.sizes.size()), base, t.sizes.data(), t.strides.data(),
      pixels.lower.data(), pixels.upper.data(), pixels.channels, pixels.count, pixels.steps.data(),
      t.interleave, t.swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    std::printf("cuTensorMapEncodeIm2col gave %d\n", static_cast<int>(result));
    std::exit(1);
  }
  return map;
}

inline CUtensorMap box_map(const TensorLayout& t, void* base, const std::vector<cuuint32_t>& box,
                           std::vector<cuuint32_t> steps = {}) {
  steps.resize(t.sizes.size(), 1);
  const cuuint64_t none = 0;  // the driver takes no null pointer, even for one dimension
  CUtensorMap map;
  const CUresult result = driver_function<EncodeTiled>("cuTensorMapEncodeTiled")(
      &map, t.type, static_cast<cuuint32_t>(t.sizes.size()), base, t.sizes.data(),
      t.strides.empty() ? &none : t.strides.data(), box.data(), steps.data(), t.interleave, t.swizzle,
      CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    std::printf("cuTensorMapEncodeTiled gave %d\n", static_cast<int>(result));
    std::exit(1);
  }
  return map;
}

// Four coordinates: C, W, H, N; of an interleaved tensor W, H, slice, N.
struct At {
  int c[4];
};

__device__ inline void load_pixels_4d(void* to, const CUtensorMap* map, At at, int dx, int dy,
                                      uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], "
      "[%1, {%2, %3, %4, %5}], [%6], {%7, %8};" ::"r"(shared_address(to)),
      "l"(map), "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]), "r"(at.c[3]), "r"(shared_address(barrier)),
      "h"(static_cast<short>(dx)), "h"(static_cast<short>(dy))
      : "memory");
}
__device__ inline void store_pixels_4d(const CUtensorMap* map, const void* from, At at) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group [%0, {%1, %2, %3, %4}], [%5];" ::
          "l"(map),
      "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]), "r"(at.c[3]), "r"(shared_address(from))
      : "memory");
}
__device__ inline void load_box_4d(void* to, const CUtensorMap* map, At at, uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
      "[%1, {%2, %3, %4, %5}], [%6];" ::"r"(shared_address(to)),
      "l"(map), "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]), "r"(at.c[3]), "r"(shared_address(barrier))
      : "memory");
}
__device__ inline void store_box_4d(const CUtensorMap* map, const void* from, At at) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3, %4}], [%5];" ::"l"(map),
      "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]), "r"(at.c[3]), "r"(shared_address(from))
      : "memory");
}

}  // namespace hopper
