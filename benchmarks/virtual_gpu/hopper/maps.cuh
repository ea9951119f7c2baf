// Tensor maps that a kernel changes, and the fences that show the change to the copy engine.
#pragma once

#include "tensor.cuh"

namespace hopper {

__device__ inline void replace_address_in_shared(CUtensorMap* map, const void* address) {
  asm volatile(
      "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(shared_address(map)),
      "l"(address)
      : "memory");
}
__device__ inline void replace_address(CUtensorMap* map, const void* address) {
  asm volatile("tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;" ::"l"(map), "l"(address)
               : "memory");
}
// By a whole warp: copies a map from shared memory to device memory, and releases it there.
__device__ inline void publish_map(CUtensorMap* to, const CUtensorMap* from) {
  asm volatile(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], "
      "128;" ::"l"(to),
      "r"(shared_address(from))
      : "memory");
}
__device__ inline void release_maps() {
  asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
}
__device__ inline void acquire_map(const CUtensorMap* map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}

}  // namespace hopper
