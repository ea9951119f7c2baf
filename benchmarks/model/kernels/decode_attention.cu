// Attention of one new token over a cache of keys and values, in fp16: out = softmax(q k' / sqrt(128)) v for
// each head. The cache is [heads][keys][128].
#include "bench.cuh"

namespace {

constexpr int kDim = 128, kMostKeys = 4096, kWarps = 8;
constexpr float kScale = 0.08838834765f * 1.44269504f;  // of scores, for powers of two

template <class Combine>
__device__ float block_combine(float value, float neutral, Combine combine) {
  __shared__ float parts[kWarps];
  for (int step = 16; step > 0; step /= 2) value = combine(value, __shfl_xor_sync(0xffffffffu, value, step));
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = neutral;
  for (float part : parts) value = combine(value, part);
  return value;
}

// Scores of all keys become weights, and their sum is returned to every thread.
__device__ float softmax_in_place(float* scores, int keys) {
  float largest = -INFINITY, sum = 0;
  for (int key = threadIdx.x; key < keys; key += blockDim.x) largest = fmaxf(largest, scores[key]);
  largest = block_combine(largest, -INFINITY, [](float a, float b) { return fmaxf(a, b); });
  for (int key = threadIdx.x; key < keys; key += blockDim.x) {
    scores[key] = exp2f(scores[key] - largest);
    sum += scores[key];
  }
  return block_combine(sum, 0.0f, [](float a, float b) { return a + b; });
}

// A block has a head, a thread the whole dot product of a key; then a thread has a dimension of the result.
__global__ void thread_per_key(const __half* q, const __half* k, const __half* v, __half* out, int keys) {
  __shared__ float query[kDim], scores[kMostKeys];
  const size_t head = blockIdx.x, cache = head * keys * kDim;
  if (threadIdx.x < kDim) query[threadIdx.x] = __half2float(q[head * kDim + threadIdx.x]) * kScale;
  __syncthreads();
  for (int key = threadIdx.x; key < keys; key += blockDim.x) {
    float score = 0;
    for (int d = 0; d < kDim; ++d) score += query[d] * __half2float(k[cache + key * kDim + d]);
    scores[key] = score;
  }
  __syncthreads();
  const float weight = softmax_in_place(scores, keys);
  if (threadIdx.x >= kDim) return;
  float sum = 0;
  for (int key = 0; key < keys; ++key) sum += scores[key] * __half2float(v[cache + key * kDim + threadIdx.x]);
  out[head * kDim + threadIdx.x] = __float2half(sum / weight);
}

__device__ float4 four_floats(const __half* at) {
  const uint2 raw = *reinterpret_cast<const uint2*>(at);
  const float2 low = __half22float2(*reinterpret_cast<const __half2*>(&raw.x));
  const float2 high = __half22float2(*reinterpret_cast<const __half2*>(&raw.y));
  return make_float4(low.x, low.y, high.x, high.y);
}

__device__ float4 scaled_query(const __half* at) {
  const float4 q = four_floats(at);
  return make_float4(q.x * kScale, q.y * kScale, q.z * kScale, q.w * kScale);
}

__device__ float warp_dot(float4 a, float4 b) {
  float sum = a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  return sum;
}

// As above with a warp for each key, and both halves of the block for the values.
__global__ void warp_per_key(const __half* q, const __half* k, const __half* v, __half* out, int keys) {
  __shared__ float scores[kMostKeys], parts[kDim];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const size_t head = blockIdx.x, cache = head * keys * kDim;
  const float4 query = scaled_query(q + head * kDim + lane * 4);
  for (int key = warp; key < keys; key += kWarps) {
    const float score = warp_dot(query, four_floats(k + cache + key * kDim + lane * 4));
    if (lane == 0) scores[key] = score;
  }
  __syncthreads();
  const float weight = softmax_in_place(scores, keys);
  const int d = threadIdx.x % kDim, side = threadIdx.x / kDim;
  float sum = 0;
  for (int key = side; key < keys; key += 2) sum += scores[key] * __half2float(v[cache + key * kDim + d]);
  if (side == 1) parts[d] = sum;
  __syncthreads();
  if (side == 0) out[head * kDim + d] = __float2half((sum + parts[d]) / weight);
}

// What some keys contribute: their largest score, the sum of their weights, and that of weighted values.
struct Part {
  float largest, weight;
  float4 sum;  // of the lane's four dimensions
};

__device__ Part merged(Part a, Part b) {
  const float higher = fmaxf(a.largest, b.largest);
  const float p = exp2f(a.largest - higher), r = exp2f(b.largest - higher);
  return {higher, a.weight * p + b.weight * r,
          make_float4(a.sum.x * p + b.sum.x * r, a.sum.y * p + b.sum.y * r, a.sum.z * p + b.sum.z * r,
                      a.sum.w * p + b.sum.w * r)};
}

// Keys of the block's share go round its warps, each with a running softmax; the first warp has the result.
__device__ Part block_part(const __half* q, const __half* k, const __half* v, int keys) {
  __shared__ Part parts[kWarps][32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const float4 query = scaled_query(q + lane * 4);
  Part part = {-INFINITY, 0, make_float4(0, 0, 0, 0)};
  for (int key = warp; key < keys; key += kWarps) {
    const float score = warp_dot(query, four_floats(k + key * kDim + lane * 4));
    part = merged(part, {score, 1, four_floats(v + key * kDim + lane * 4)});
  }
  parts[warp][lane] = part;
  __syncthreads();
  if (warp == 0)
    for (int other = 1; other < kWarps; ++other) part = merged(part, parts[other][lane]);
  return part;
}

__device__ void store(__half* to, Part part) {
  auto* pairs = reinterpret_cast<__half2*>(to);
  pairs[0] = __floats2half2_rn(part.sum.x / part.weight, part.sum.y / part.weight);
  pairs[1] = __floats2half2_rn(part.sum.z / part.weight, part.sum.w / part.weight);
}

__global__ void running_softmax(const __half* q, const __half* k, const __half* v, __half* out, int keys) {
  const size_t head = blockIdx.x, cache = head * keys * kDim;
  const Part part = block_part(q + head * kDim, k + cache, v + cache, keys);
  if (threadIdx.x < 32) store(out + head * kDim + threadIdx.x * 4, part);
}

// The keys of a head are split over blockIdx.x, and the second launch merges.
__global__ void split_keys(const __half* q, const __half* k, const __half* v, Part* parts, int keys) {
  const int share = keys / gridDim.x;
  const size_t head = blockIdx.y, cache = (head * keys + blockIdx.x * share) * kDim;
  const Part part = block_part(q + head * kDim, k + cache, v + cache, share);
  if (threadIdx.x < 32) parts[(head * gridDim.x + blockIdx.x) * 32 + threadIdx.x] = part;
}

__global__ void merge_splits(const Part* parts, __half* out, int splits) {
  const size_t head = blockIdx.x;
  Part part = parts[head * splits * 32 + threadIdx.x];
  for (int i = 1; i < splits; ++i) part = merged(part, parts[(head * splits + i) * 32 + threadIdx.x]);
  store(out + head * kDim + threadIdx.x * 4, part);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<bench::Case> cases;
  constexpr int kSplits = 16;
  for (const auto& [heads, keys] : {std::pair{32, 1024}, {8, 4096}}) {
    const std::string size = "_" + std::to_string(heads) + "x" + std::to_string(keys);
    const size_t cache = size_t{2} * heads * keys * kDim;
    const std::vector<bench::Buffer> buffers = {{size_t{2} * heads * kDim, bench::Fill::kHalves},
                                                {cache, bench::Fill::kHalves},
                                                {cache, bench::Fill::kHalves},
                                                {size_t{2} * heads * kDim, bench::Fill::kZero},
                                                {sizeof(Part) * heads * kSplits * 32, bench::Fill::kZero}};
    auto add = [&, heads = heads, keys = keys](const char* name, auto kernel) {
      cases.push_back({"decode_attention" + size, name + size, buffers, [=](const bench::Pointers& p) {
                         kernel<<<heads, 32 * kWarps>>>(
                             static_cast<const __half*>(p[0]), static_cast<const __half*>(p[1]),
                             static_cast<const __half*>(p[2]), static_cast<__half*>(p[3]), keys);
                       }});
    };
    add("decode_thread_per_key", thread_per_key);
    add("decode_warp_per_key", warp_per_key);
    add("decode_running_softmax", running_softmax);
    cases.push_back({"decode_attention" + size, "decode_split_keys" + size, buffers,
                     [=, heads = heads, keys = keys](const bench::Pointers& p) {
                       split_keys<<<dim3(kSplits, heads), 32 * kWarps>>>(
                           static_cast<const __half*>(p[0]), static_cast<const __half*>(p[1]),
                           static_cast<const __half*>(p[2]), static_cast<Part*>(p[4]), keys);
                       merge_splits<<<heads, 32>>>(static_cast<const Part*>(p[4]), static_cast<__half*>(p[3]),
                                                   kSplits);
                     }});
  }
  return bench::main_of(argc, argv, cases);
}
