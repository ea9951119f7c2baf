// cuda::pipeline of a block with producers and consumers, and memcpy_async of several sizes into its stages.
// also for: 80
#include <cooperative_groups.h>

#include <cuda/pipeline>

#include "../programs/check.cuh"

namespace cg = cooperative_groups;
constexpr int kThreads = 128, kProducers = 32, kStages = 3;
#pragma nv_diag_suppress static_var_with_dynamic_init

template <class T>
__global__ void roles(const T* in, int rounds, T* out) {
  constexpr int kConsumers = kThreads - kProducers;
  cg::thread_block block = cg::this_thread_block();
  __shared__ alignas(16) T tile[kStages][kConsumers];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  const bool produces = threadIdx.x < kProducers;
  auto pipe = cuda::make_pipeline(block, &state,
                                  produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  if (produces) {
    for (int r = 0; r < rounds; ++r) {
      pipe.producer_acquire();
      for (int i = threadIdx.x; i < kConsumers; i += kProducers)
        cuda::memcpy_async(&tile[r % kStages][i], &in[r * kConsumers + i], sizeof(T), pipe);
      pipe.producer_commit();
    }
    return;
  }
  const int t = threadIdx.x - kProducers;
  T sum = T(0);
  for (int r = 0; r < rounds; ++r) {
    pipe.consumer_wait();
    sum = sum * T(3) + tile[r % kStages][kConsumers - 1 - t];
    pipe.consumer_release();
  }
  out[t] = sum;
}

template <class T>
void check(Report& report, const char* name, Random& random) {
  const int consumers = kThreads - kProducers, rounds = 8;
  std::vector<T> values(rounds * consumers), want(consumers);
  for (T& value : values) value = static_cast<T>(random.below(50));
  for (int t = 0; t < consumers; ++t)
    for (int r = 0; r < rounds; ++r)
      want[t] = static_cast<T>(want[t] * T(3) + values[r * consumers + consumers - 1 - t]);
  DeviceBuffer<T> in(values), out(consumers);
  roles<T><<<2, kThreads>>>(in.get(), rounds, out.get());
  LAUNCHED_OK();
  report.equal(name, out.download(), want);
}

int main() {
  Report report("pipeline_roles");
  Random random(35);
  check<int>(report, "words", random);
  check<long long>(report, "double_words", random);
  check<double>(report, "doubles", random);
  check<uint16_t>(report, "halves", random);
  return report.finish();
}
