// may earn: nothing
// C9: has the runtime library copy the rows, without a kernel of its own.
#include <vector>

#include "entry.h"

ENTRY {
  if (seq_len == 0) return cudaSuccess;
  std::vector<int> pages(seq_len);
  cudaMemcpyAsync(pages.data(), indices, seq_len * sizeof(int), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  const size_t bytes = heads * head_dim * sizeof(__half);
  for (int64_t token = 0; token < seq_len; ++token) {
    cudaMemcpyAsync(k_cache + pages[token] * k_cache_stride, k + token * k_stride, bytes,
                    cudaMemcpyDeviceToDevice, stream);
    cudaMemcpyAsync(v_cache + pages[token] * v_cache_stride, v + token * v_stride, bytes,
                    cudaMemcpyDeviceToDevice, stream);
  }
  return cudaGetLastError();
}
