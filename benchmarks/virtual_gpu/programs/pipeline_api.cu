// The same copies through cuda_pipeline.h: a two-stage moving average and a zero-filled tail.
#include <cuda_pipeline.h>

#include "check.cuh"

constexpr int kThreads = 64, kTiles = 6;

__global__ void moving_sum(const float* in, float* out) {
  __shared__ float stage[2][kThreads];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&stage[0][t], in + t, sizeof(float));
  __pipeline_commit();
  for (int tile = 0; tile < kTiles; ++tile) {
    if (tile + 1 < kTiles) {
      __pipeline_memcpy_async(&stage[(tile + 1) % 2][t], in + (tile + 1) * kThreads + t, sizeof(float));
    }
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    const float* row = stage[tile % 2];
    out[tile * kThreads + t] = row[t] + row[(t + 1) % kThreads] + row[(t + 2) % kThreads];
    __syncthreads();
  }
}

__global__ void padded(const int4* in, int count, int4* out) {
  __shared__ int4 tile[kThreads];
  const int t = threadIdx.x;
  const bool inside = t < count;
  // The last argument says how many of the 16 bytes to fill with zeros instead of copying.
  __pipeline_memcpy_async(&tile[t], in + (inside ? t : 0), sizeof(int4), inside ? 0 : sizeof(int4));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[t] = tile[kThreads - 1 - t];
}

int main() {
  Report report("pipeline_api");
  Random random(25);
  std::vector<float> in(kTiles * kThreads), want(in.size());
  for (float& value : in) value = static_cast<float>(random.below(1000));
  for (int tile = 0; tile < kTiles; ++tile) {
    for (int t = 0; t < kThreads; ++t) {
      const float* row = &in[tile * kThreads];
      want[tile * kThreads + t] = row[t] + row[(t + 1) % kThreads] + row[(t + 2) % kThreads];
    }
  }
  DeviceBuffer<float> input(in), output(in.size());
  moving_sum<<<1, kThreads>>>(input.get(), output.get());
  LAUNCHED_OK();
  report.equal("moving_sum", output.download(), want);

  const int count = 41;
  std::vector<int> words(count * 4), want_words(kThreads * 4, 0);
  for (int& word : words) word = static_cast<int>(random.next32());
  for (int t = 0; t < count; ++t) {
    for (int k = 0; k < 4; ++k) want_words[(kThreads - 1 - t) * 4 + k] = words[t * 4 + k];
  }
  DeviceBuffer<int> word_input(words), word_output(kThreads * 4);
  padded<<<1, kThreads>>>(reinterpret_cast<const int4*>(word_input.get()), count,
                          reinterpret_cast<int4*>(word_output.get()));
  LAUNCHED_OK();
  report.equal("padded", word_output.download(), want_words);
  return report.finish();
}
