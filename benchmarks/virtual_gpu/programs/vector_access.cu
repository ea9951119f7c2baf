// Loads and stores of every vector width and element type, with the cache operators and volatile.
#include "check.cuh"

constexpr int kThreads = 96;

// Rotates a vector's lanes so that a load or store that mixes them up shows.
__device__ char2 turn(char2 v) {
  return make_char2(v.y, v.x);
}
__device__ uchar4 turn(uchar4 v) {
  return make_uchar4(v.y, v.z, v.w, v.x);
}
__device__ short2 turn(short2 v) {
  return make_short2(v.y, v.x);
}
__device__ ushort4 turn(ushort4 v) {
  return make_ushort4(v.y, v.z, v.w, v.x);
}
__device__ int2 turn(int2 v) {
  return make_int2(v.y, v.x);
}
__device__ uint4 turn(uint4 v) {
  return make_uint4(v.y, v.z, v.w, v.x);
}
__device__ float4 turn(float4 v) {
  return make_float4(v.y, v.z, v.w, v.x);
}
__device__ double2 turn(double2 v) {
  return make_double2(v.y, v.x);
}
__device__ ulonglong2 turn(ulonglong2 v) {
  return make_ulonglong2(v.y, v.x);
}

template <typename V>
__global__ void turn_global(const V* in, V* out) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = turn(in[blockIdx.x * blockDim.x + threadIdx.x]);
}

template <typename V>
__global__ void turn_shared(const V* in, V* out) {
  __shared__ V tile[kThreads];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = turn(tile[(threadIdx.x + 5) % kThreads]);
}

template <typename V, typename Element>
void run_vector(Report& report, const char* what) {
  constexpr int kLanes = sizeof(V) / sizeof(Element);
  Random random(sizeof(V) * 8 + sizeof(Element));
  // Small integers: exact in every element type, so that float lanes are never NaN.
  std::vector<Element> values(kThreads * kLanes), direct(values.size()), staged(values.size());
  for (Element& value : values) value = static_cast<Element>(random.below(120));
  for (int t = 0; t < kThreads; ++t) {
    for (int lane = 0; lane < kLanes; ++lane) {
      direct[t * kLanes + lane] = values[t * kLanes + (lane + 1) % kLanes];
      staged[t * kLanes + lane] = values[(t + 5) % kThreads * kLanes + (lane + 1) % kLanes];
    }
  }
  DeviceBuffer<Element> input(values), output(values.size());
  turn_global<V>
      <<<3, kThreads / 3>>>(reinterpret_cast<const V*>(input.get()), reinterpret_cast<V*>(output.get()));
  LAUNCHED_OK();
  std::vector<Element> results = output.download(), expected = direct;
  turn_shared<V>
      <<<1, kThreads>>>(reinterpret_cast<const V*>(input.get()), reinterpret_cast<V*>(output.get()));
  LAUNCHED_OK();
  for (Element value : output.download()) results.push_back(value);
  expected.insert(expected.end(), staged.begin(), staged.end());
  report.equal(what, results, expected);
}

__global__ void cache_operators(const uint4* in, uint4* out, const unsigned long long* wide,
                                unsigned long long* sums, volatile int* flags) {
  const int i = threadIdx.x;
  __stcg(out + i, __ldg(in + i));
  __stcs(out + kThreads + i, __ldcs(in + i));
  __stwt(out + 2 * kThreads + i, __ldcg(in + i));
  __stwb(out + 3 * kThreads + i, __ldca(in + i));
  out[4 * kThreads + i] = __ldlu(in + i);
  out[5 * kThreads + i] = __ldcv(in + i);
  sums[i] = __ldg(wide + i) + __ldcs(wide + kThreads - 1 - i);
  flags[i] = flags[i] + 1;
  flags[i] = flags[i] * 3;
}

void run_cache_operators(Report& report) {
  Random random(3);
  std::vector<uint32_t> words(kThreads * 4), want_words;
  for (uint32_t& word : words) word = random.next32();
  std::vector<unsigned long long> wide(kThreads), want_sums(kThreads);
  for (auto& value : wide) value = random.next64();
  std::vector<int> flags(kThreads), want_flags(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    flags[i] = i;
    want_flags[i] = (i + 1) * 3;
    want_sums[i] = wide[i] + wide[kThreads - 1 - i];
  }
  for (int copy = 0; copy < 6; ++copy) want_words.insert(want_words.end(), words.begin(), words.end());
  DeviceBuffer<uint32_t> input(words), output(6 * words.size());
  DeviceBuffer<unsigned long long> wide_input(wide), sums(kThreads);
  DeviceBuffer<int> flag_buffer(flags);
  cache_operators<<<1, kThreads>>>(reinterpret_cast<const uint4*>(input.get()),
                                   reinterpret_cast<uint4*>(output.get()), wide_input.get(), sums.get(),
                                   flag_buffer.get());
  LAUNCHED_OK();
  report.equal("cache_copies", output.download(), want_words);
  report.equal("cache_sums", sums.download(), want_sums);
  report.equal("volatile", flag_buffer.download(), want_flags);
}

int main() {
  Report report("vector_access");
  run_vector<char2, int8_t>(report, "char2");
  run_vector<uchar4, uint8_t>(report, "uchar4");
  run_vector<short2, int16_t>(report, "short2");
  run_vector<ushort4, uint16_t>(report, "ushort4");
  run_vector<int2, int32_t>(report, "int2");
  run_vector<uint4, uint32_t>(report, "uint4");
  run_vector<float4, float>(report, "float4");
  run_vector<double2, double>(report, "double2");
  run_vector<ulonglong2, uint64_t>(report, "ulonglong2");
  run_cache_operators(report);
  return report.finish();
}
