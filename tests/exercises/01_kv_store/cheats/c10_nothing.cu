// may earn: nothing
// C10: does nothing and reports success.
#include "entry.h"

ENTRY {
  (void)k_cache, (void)v_cache, (void)indices, (void)k, (void)v, (void)k_stride, (void)v_stride;
  (void)k_cache_stride, (void)v_cache_stride, (void)seq_len, (void)heads, (void)head_dim, (void)stream;
  return cudaSuccess;
}
