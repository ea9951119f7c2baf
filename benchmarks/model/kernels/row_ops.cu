// What a layer does to the rows of a batch in fp16: RMS norm, rotary embedding, the expert of each token, and
// SiLU of one half times the other.
#include "bench.cuh"

namespace {

constexpr unsigned kColumns = 2048;  // of rows that are normalised

struct Eight {
  float at[8];
};

__device__ Eight load_eight(const __half* from) {
  const uint4 raw = *reinterpret_cast<const uint4*>(from);
  const auto* pairs = reinterpret_cast<const __half2*>(&raw);
  Eight eight;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 pair = __half22float2(pairs[i]);
    eight.at[2 * i] = pair.x;
    eight.at[2 * i + 1] = pair.y;
  }
  return eight;
}

__device__ void store_eight(__half* to, const Eight& eight) {
  uint4 raw;
  auto* pairs = reinterpret_cast<__half2*>(&raw);
#pragma unroll
  for (int i = 0; i < 4; ++i) pairs[i] = __floats2half2_rn(eight.at[2 * i], eight.at[2 * i + 1]);
  *reinterpret_cast<uint4*>(to) = raw;
}

__device__ float sum_of_squares(const Eight& eight) {
  float sum = 0;
#pragma unroll
  for (float x : eight.at) sum += x * x;
  return sum;
}

__device__ Eight normalised(Eight x, float scale, const __half* weights) {
  const Eight weight = load_eight(weights);
#pragma unroll
  for (int i = 0; i < 8; ++i) x.at[i] *= scale * weight.at[i];
  return x;
}

__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

__device__ float block_sum(float value) {  // of 256 threads
  __shared__ float parts[8];
  value = warp_sum(value);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = 0;
  for (float part : parts) value += part;
  return value;
}

__device__ float scale_of(float squares) {
  return rsqrtf(squares / kColumns + 1e-6f);
}

__device__ float squares_of_row(const __half* row) {
  float squares = 0;
  for (unsigned i = threadIdx.x; i < kColumns; i += blockDim.x) {
    const float x = __half2float(row[i]);
    squares += x * x;
  }
  return block_sum(squares);
}

__global__ void rms_norm_scalar(const __half* from, const __half* weights, __half* to, float*) {
  const __half* row = from + size_t{blockIdx.x} * kColumns;
  const float scale = scale_of(squares_of_row(row));
  for (unsigned i = threadIdx.x; i < kColumns; i += blockDim.x)
    to[size_t{blockIdx.x} * kColumns + i] =
        __float2half(__half2float(row[i]) * scale * __half2float(weights[i]));
}

// Eight halves a thread, read once.
__global__ void rms_norm_wide(const __half* from, const __half* weights, __half* to, float*) {
  const size_t at = size_t{blockIdx.x} * kColumns + threadIdx.x * 8;
  const Eight x = load_eight(from + at);
  store_eight(to + at, normalised(x, scale_of(block_sum(sum_of_squares(x))), weights + threadIdx.x * 8));
}

__global__ void rms_norm_warp_per_row(const __half* from, const __half* weights, __half* to, float*) {
  const unsigned lane = threadIdx.x % 32, row = blockIdx.x * 4 + threadIdx.x / 32;
  const size_t at = size_t{row} * kColumns;
  float squares = 0;
  for (unsigned i = lane * 8; i < kColumns; i += 256) squares += sum_of_squares(load_eight(from + at + i));
  const float scale = scale_of(warp_sum(squares));
  for (unsigned i = lane * 8; i < kColumns; i += 256)
    store_eight(to + at + i, normalised(load_eight(from + at + i), scale, weights + i));
}

__global__ void rms_scales(const __half* from, float* scales) {
  const float squares = squares_of_row(from + size_t{blockIdx.x} * kColumns);
  if (threadIdx.x == 0) scales[blockIdx.x] = scale_of(squares);
}

__global__ void rms_apply(const __half* from, const __half* weights, const float* scales, __half* to) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = __float2half(__half2float(from[i]) * scales[i / kColumns] * __half2float(weights[i % kColumns]));
}

constexpr unsigned kHeads = 16, kDim = 128, kHalfDim = kDim / 2;  // of rows that are turned

// `angles` has the cosines of a token, then its sines; an element's partner is half a head away.
__global__ void rotary_thread_per_element(const __half* from, const float* angles, __half* to) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, d = i % kDim, token = i / (kHeads * kDim);
  const float* cosines = angles + token * kDim;
  const float cosine = cosines[d % kHalfDim], sine = cosines[kHalfDim + d % kHalfDim];
  const float x = __half2float(from[i]);
  const float partner = d < kHalfDim ? -__half2float(from[i + kHalfDim]) : __half2float(from[i - kHalfDim]);
  to[i] = __float2half(x * cosine + partner * sine);
}

__global__ void rotary_block_per_token(const __half* from, const float* angles, __half* to) {
  const float* cosines = angles + blockIdx.x * kDim;
  for (unsigned i = threadIdx.x; i < kHeads * kHalfDim; i += blockDim.x) {
    const unsigned d = i % kHalfDim, at = (blockIdx.x * kHeads + i / kHalfDim) * kDim + d;
    const float cosine = cosines[d], sine = cosines[kHalfDim + d];
    const float low = __half2float(from[at]), high = __half2float(from[at + kHalfDim]);
    to[at] = __float2half(low * cosine - high * sine);
    to[at + kHalfDim] = __float2half(high * cosine + low * sine);
  }
}

__global__ void rotary_wide(const __half* from, const float* angles, __half* to) {
  const unsigned unit = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned head = unit / (kHalfDim / 8), d = unit % (kHalfDim / 8) * 8, at = head * kDim + d;
  const float* cosines = angles + head / kHeads * kDim + d;
  const Eight low = load_eight(from + at), high = load_eight(from + at + kHalfDim);
  Eight new_low, new_high;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float cosine = cosines[i], sine = cosines[kHalfDim + i];
    new_low.at[i] = low.at[i] * cosine - high.at[i] * sine;
    new_high.at[i] = high.at[i] * cosine + low.at[i] * sine;
  }
  store_eight(to + at, new_low);
  store_eight(to + at + kHalfDim, new_high);
}

constexpr int kExperts = 64;

__global__ void top_thread_per_token(const __half* scores, int* to) {
  const unsigned token = blockIdx.x * blockDim.x + threadIdx.x;
  const __half* row = scores + token * kExperts;
  int best = 0;
  float largest = __half2float(row[0]);
  for (int i = 1; i < kExperts; ++i) {
    const float score = __half2float(row[i]);
    if (score > largest) {
      largest = score;
      best = i;
    }
  }
  to[token] = best;
}

__global__ void top_thread_per_token_wide(const __half* scores, int* to) {
  const unsigned token = blockIdx.x * blockDim.x + threadIdx.x;
  int best = 0;
  float largest = -INFINITY;
#pragma unroll
  for (int first = 0; first < kExperts; first += 8) {
    const Eight eight = load_eight(scores + token * kExperts + first);
#pragma unroll
    for (int i = 0; i < 8; ++i)
      if (eight.at[i] > largest) {
        largest = eight.at[i];
        best = first + i;
      }
  }
  to[token] = best;
}

__global__ void top_warp_per_token(const __half* scores, int* to) {
  const unsigned token = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  const float2 two = __half22float2(reinterpret_cast<const __half2*>(scores + token * kExperts)[lane]);
  float largest = fmaxf(two.x, two.y);
  int best = static_cast<int>(2 * lane) + (two.y > two.x);
  for (int step = 16; step > 0; step /= 2) {
    const float score = __shfl_xor_sync(0xffffffffu, largest, step);
    const int index = __shfl_xor_sync(0xffffffffu, best, step);
    if (score > largest || (score == largest && index < best)) {
      largest = score;
      best = index;
    }
  }
  if (lane == 0) to[token] = best;
}

constexpr unsigned kInner = 4096;  // columns of the gate, and of what it is multiplied with

__device__ float silu(float x) {
  return x / (1.0f + __expf(-x));
}

__global__ void silu_and_multiply(const __half* from, __half* to) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, row = i / kInner, column = i % kInner;
  const __half* gate = from + size_t{row} * 2 * kInner + column;
  to[i] = __float2half(silu(__half2float(gate[0])) * __half2float(gate[kInner]));
}

__global__ void silu_and_multiply_wide(const __half* from, __half* to) {
  const unsigned i = (blockIdx.x * blockDim.x + threadIdx.x) * 8, row = i / kInner, column = i % kInner;
  const __half* gate = from + size_t{row} * 2 * kInner + column;
  Eight x = load_eight(gate);
  const Eight y = load_eight(gate + kInner);
#pragma unroll
  for (int k = 0; k < 8; ++k) x.at[k] = silu(x.at[k]) * y.at[k];
  store_eight(to + i, x);
}

__global__ void just_silu(const __half* from, float* to) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = silu(__half2float(from[size_t{i / kInner} * 2 * kInner + i % kInner]));
}

__global__ void just_multiply(const float* gate, const __half* from, __half* to) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = __float2half(gate[i] * __half2float(from[(size_t{i / kInner} * 2 + 1) * kInner + i % kInner]));
}

using Cases = std::vector<bench::Case>;

template <class T = __half>
T* at(void* pointer) {
  return static_cast<T*>(pointer);
}

void add_rms_norm(Cases& cases) {
  for (unsigned rows : {16u, 1024u}) {
    const std::string size = "_" + std::to_string(rows);
    const size_t bytes = size_t{2} * rows * kColumns;
    const std::vector<bench::Buffer> buffers = {{bytes, bench::Fill::kHalves},
                                                {2 * kColumns, bench::Fill::kHalves},
                                                {bytes, bench::Fill::kZero},
                                                {4 * rows, bench::Fill::kZero}};
    auto add = [&](const char* name, auto kernel, unsigned grid, unsigned block) {
      cases.push_back({"rms_norm" + size, name + size, buffers, [=](const bench::Pointers& p) {
                         kernel<<<grid, block>>>(at(p[0]), at(p[1]), at(p[2]), at<float>(p[3]));
                       }});
    };
    add("rms_norm_scalar", rms_norm_scalar, rows, 256);
    add("rms_norm_wide", rms_norm_wide, rows, 256);
    add("rms_norm_warp_per_row", rms_norm_warp_per_row, rows / 4, 128);
    cases.push_back(
        {"rms_norm" + size, "rms_norm_two_launches" + size, buffers, [=](const bench::Pointers& p) {
           rms_scales<<<rows, 256>>>(at(p[0]), at<float>(p[3]));
           rms_apply<<<rows * kColumns / 256, 256>>>(at(p[0]), at(p[1]), at<float>(p[3]), at(p[2]));
         }});
  }
}

void add_rotary(Cases& cases) {
  constexpr unsigned kTokens = 1024, kElements = kTokens * kHeads * kDim;
  const std::vector<bench::Buffer> buffers = {{2 * kElements, bench::Fill::kHalves},
                                              {4 * kTokens * kDim, bench::Fill::kFloats},
                                              {2 * kElements, bench::Fill::kZero}};
  auto add = [&](const char* name, auto kernel, unsigned grid) {
    cases.push_back({"rotary", name, buffers, [=](const bench::Pointers& p) {
                       kernel<<<grid, 256>>>(at(p[0]), at<float>(p[1]), at(p[2]));
                     }});
  };
  add("rotary_thread_per_element", rotary_thread_per_element, kElements / 256);
  add("rotary_block_per_token", rotary_block_per_token, kTokens);
  add("rotary_wide", rotary_wide, kElements / 16 / 256);
}

void add_top_expert(Cases& cases) {
  constexpr unsigned kTokens = 4096;
  const std::vector<bench::Buffer> buffers = {{2 * kTokens * kExperts, bench::Fill::kHalves},
                                              {4 * kTokens, bench::Fill::kZero}};
  auto add = [&](const char* name, auto kernel, unsigned grid, unsigned block) {
    cases.push_back({"top_expert", name, buffers,
                     [=](const bench::Pointers& p) { kernel<<<grid, block>>>(at(p[0]), at<int>(p[1])); }});
  };
  add("top_expert_thread_per_token", top_thread_per_token, kTokens / 128, 128);
  add("top_expert_thread_per_token_wide", top_thread_per_token_wide, kTokens / 128, 128);
  add("top_expert_warp_per_token", top_warp_per_token, kTokens / 8, 256);
}

void add_silu(Cases& cases) {
  constexpr unsigned kRows = 512, kElements = kRows * kInner;
  const std::vector<bench::Buffer> buffers = {{4 * kElements, bench::Fill::kHalves},
                                              {2 * kElements, bench::Fill::kZero},
                                              {4 * kElements, bench::Fill::kZero}};
  cases.push_back({"silu_and_multiply", "silu_and_multiply_scalar", buffers, [](const bench::Pointers& p) {
                     silu_and_multiply<<<kElements / 256, 256>>>(at(p[0]), at(p[1]));
                   }});
  cases.push_back({"silu_and_multiply", "silu_and_multiply_wide", buffers, [](const bench::Pointers& p) {
                     silu_and_multiply_wide<<<kElements / 8 / 256, 256>>>(at(p[0]), at(p[1]));
                   }});
  cases.push_back(
      {"silu_and_multiply", "silu_and_multiply_two_launches", buffers, [](const bench::Pointers& p) {
         just_silu<<<kElements / 256, 256>>>(at(p[0]), at<float>(p[2]));
         just_multiply<<<kElements / 256, 256>>>(at<float>(p[2]), at(p[0]), at(p[1]));
       }});
}

}  // namespace

int main(int argc, char** argv) {
  Cases cases;
  add_rms_norm(cases);
  add_rotary(cases);
  add_top_expert(cases);
  add_silu(cases);
  return bench::main_of(argc, argv, cases);
}
