// may earn: correct 5
// C4: stores the first token everywhere, which would do if all tokens were alike.
#include "honest.h"

ENTRY {
  if (seq_len == 0) return cudaSuccess;
  store<<<seq_len, 128, 0, stream>>>(k_cache, v_cache, indices, k, v, 0, 0, k_cache_stride, v_cache_stride,
                                     heads * head_dim);
  return cudaGetLastError();
}
