// Ends its process before anything is called.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdlib>

namespace {
struct Impatient {
  Impatient() { std::abort(); }
} impatient;
}  // namespace

extern "C" int fused_store_kv_async(__half*, __half*, const int*, const __half*, const __half*, int64_t,
                                    int64_t, int64_t, int64_t, int, int, int, cudaStream_t) {
  return 0;
}
