// Tensor maps and wgmma as the programs of this folder use them.
#pragma once

#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../programs/check.cuh"
#include "instructions.cuh"

namespace hopper {

using EncodeTiled = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                                 const cuuint64_t*, const cuuint32_t*, const cuuint32_t*,
                                 CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                                 CUtensorMapFloatOOBfill);

inline EncodeTiled encode_tiled() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  CUDA_OK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault,
                                           &found));
  if (found != cudaDriverEntryPointSuccess) {
    std::printf("there is no cuTensorMapEncodeTiled\n");
    std::exit(1);
  }
  return reinterpret_cast<EncodeTiled>(function);
}

// Sizes, strides (bytes, of dimensions 1 and up), box and element strides, the innermost dimension first.
inline CUtensorMap tensor_map(CUtensorMapDataType type, void* base, const std::vector<cuuint64_t>& sizes,
                              const std::vector<cuuint64_t>& strides, const std::vector<cuuint32_t>& box,
                              CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE,
                              std::vector<cuuint32_t> steps = {},
                              CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) {
  steps.resize(sizes.size(), 1);
  const cuuint64_t none = 0;  // the driver takes no null pointer, even for one dimension
  CUtensorMap map;
  const CUresult result =
      encode_tiled()(&map, type, static_cast<cuuint32_t>(sizes.size()), base, sizes.data(),
                     strides.empty() ? &none : strides.data(), box.data(), steps.data(),
                     CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, fill);
  if (result != CUDA_SUCCESS) {
    std::printf("cuTensorMapEncodeTiled gave %d\n", static_cast<int>(result));
    std::exit(1);
  }
  return map;
}

__device__ inline void load_box_2d(void* to, const CUtensorMap* map, int x, int y, uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
      "[%4];" ::"r"(shared_address(to)),
      "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier))
      : "memory");
}
__device__ inline void store_box_2d(const CUtensorMap* map, const void* from, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
               "r"(x), "r"(y), "r"(shared_address(from))
               : "memory");
}

}  // namespace hopper
