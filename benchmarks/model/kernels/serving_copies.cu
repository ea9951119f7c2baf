// What a server copies: pitched matrices, rows of an embedding table, pairs put together and taken apart, and
// sums of several arrays.
#include "bench.cuh"

namespace {

// A matrix of floats whose rows start a pitch apart, not the same in both places.
struct Pitched {
  unsigned rows, columns, from_pitch, to_pitch;
};

__global__ void pitched_thread_per_element(const float* from, float* to, Pitched m) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned row = i / m.columns, column = i % m.columns;
  if (row < m.rows) to[size_t{row} * m.to_pitch + column] = from[size_t{row} * m.from_pitch + column];
}

__global__ void pitched_square_blocks(const float* from, float* to, Pitched m) {
  const unsigned column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < m.rows && column < m.columns)
    to[size_t{row} * m.to_pitch + column] = from[size_t{row} * m.from_pitch + column];
}

__global__ void pitched_wide(const float* from, float* to, Pitched m) {
  const unsigned unit = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < m.rows && unit < m.columns / 4)
    reinterpret_cast<float4*>(to + size_t{row} * m.to_pitch)[unit] =
        reinterpret_cast<const float4*>(from + size_t{row} * m.from_pitch)[unit];
}

__global__ void pitched_warp_per_row(const float* from, float* to, Pitched m) {
  const unsigned row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (row >= m.rows) return;
  for (unsigned column = threadIdx.x % 32; column < m.columns; column += 32)
    to[size_t{row} * m.to_pitch + column] = from[size_t{row} * m.from_pitch + column];
}

constexpr unsigned kHidden = 1024;  // halves of an embedding

__global__ void embed_thread_per_element(const __half* table, const int* tokens, __half* to, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count * kHidden) return;
  to[i] = table[static_cast<size_t>(tokens[i / kHidden]) * kHidden + i % kHidden];
}

__global__ void embed_warp_per_row(const __half* table, const int* tokens, __half* to, unsigned count) {
  const unsigned row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (row >= count) return;
  const auto* source = reinterpret_cast<const uint4*>(table + static_cast<size_t>(tokens[row]) * kHidden);
  auto* target = reinterpret_cast<uint4*>(to + size_t{row} * kHidden);
  for (unsigned i = threadIdx.x % 32; i < kHidden / 8; i += 32) target[i] = source[i];
}

__global__ void embed_block_per_row(const __half* table, const int* tokens, __half* to, unsigned) {
  const auto* source =
      reinterpret_cast<const __half2*>(table + static_cast<size_t>(tokens[blockIdx.x]) * kHidden);
  auto* target = reinterpret_cast<__half2*>(to + size_t{blockIdx.x} * kHidden);
  for (unsigned i = threadIdx.x; i < kHidden / 2; i += blockDim.x) target[i] = source[i];
}

__global__ void interleave_by_output(const float* a, const float* b, float* to, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 2 * count) to[i] = i % 2 ? b[i / 2] : a[i / 2];
}

__global__ void interleave_by_input(const float* a, const float* b, float* to, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  to[2 * i] = a[i];
  to[2 * i + 1] = b[i];
}

__global__ void interleave_pairs(const float* a, const float* b, float* to, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) reinterpret_cast<float2*>(to)[i] = make_float2(a[i], b[i]);
}

__global__ void part_by_element(const float* from, float* a, float* b, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  a[i] = from[2 * i];
  b[i] = from[2 * i + 1];
}

// One of the two arrays: the other takes a second launch.
__global__ void part_one(const float* from, float* to, unsigned offset, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[2 * i + offset];
}

__global__ void part_wide(const float4* __restrict__ from, float4* __restrict__ a, float4* __restrict__ b,
                          unsigned units) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= units) return;
  const float4 low = from[2 * i], high = from[2 * i + 1];
  a[i] = make_float4(low.x, low.z, high.x, high.z);
  b[i] = make_float4(low.y, low.w, high.y, high.w);
}

__global__ void add_two(const float* a, const float* b, float* to, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = a[i] + b[i];
}

__global__ void add_four(const float* a, const float* b, const float* c, const float* d, float* to,
                         unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = a[i] + b[i] + c[i] + d[i];
}

__global__ void add_four_wide(const float4* a, const float4* b, const float4* c, const float4* d, float4* to,
                              unsigned units) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= units) return;
  const float4 p = a[i], q = b[i], r = c[i], s = d[i];
  to[i] =
      make_float4(p.x + q.x + r.x + s.x, p.y + q.y + r.y + s.y, p.z + q.z + r.z + s.z, p.w + q.w + r.w + s.w);
}

using Cases = std::vector<bench::Case>;

template <class T>
T* at(void* pointer) {
  return static_cast<T*>(pointer);
}

void add_pitched(Cases& cases) {
  constexpr Pitched kMatrix = {2048, 1000, 1024, 1008};
  const std::vector<bench::Buffer> buffers = {
      {size_t{4} * kMatrix.rows * kMatrix.from_pitch, bench::Fill::kFloats},
      {size_t{4} * kMatrix.rows * kMatrix.to_pitch, bench::Fill::kZero}};
  auto add = [&](const char* name, auto kernel, dim3 grid, dim3 block) {
    cases.push_back({"pitched_copy", name, buffers, [=](const bench::Pointers& p) {
                       kernel<<<grid, block>>>(at<const float>(p[0]), at<float>(p[1]), kMatrix);
                     }});
  };
  add("pitched_thread_per_element", pitched_thread_per_element,
      bench::blocks_for(size_t{kMatrix.rows} * kMatrix.columns, 256), 256);
  add("pitched_square_blocks", pitched_square_blocks,
      dim3(bench::blocks_for(kMatrix.columns, 16), kMatrix.rows / 16), dim3(16, 16));
  add("pitched_wide", pitched_wide, dim3(bench::blocks_for(kMatrix.columns / 4, 32), kMatrix.rows / 8),
      dim3(32, 8));
  add("pitched_warp_per_row", pitched_warp_per_row, kMatrix.rows / 8, 256);
}

void add_embeddings(Cases& cases) {
  constexpr size_t kVocabulary = 8192;
  for (unsigned tokens : {32u, 2048u}) {
    const std::string size = "_" + std::to_string(tokens);
    const std::vector<bench::Buffer> buffers = {{2 * kVocabulary * kHidden, bench::Fill::kHalves},
                                                {4 * kVocabulary, bench::Fill::kShuffled},
                                                {size_t{2} * tokens * kHidden, bench::Fill::kZero}};
    auto add = [&](const char* name, auto kernel, unsigned grid, unsigned block) {
      cases.push_back({"embedding" + size, name + size, buffers, [=](const bench::Pointers& p) {
                         kernel<<<grid, block>>>(at<const __half>(p[0]), at<const int>(p[1]),
                                                 at<__half>(p[2]), tokens);
                       }});
    };
    add("embed_thread_per_element", embed_thread_per_element, tokens * kHidden / 256, 256);
    add("embed_warp_per_row", embed_warp_per_row, tokens / 4, 128);
    add("embed_block_per_row", embed_block_per_row, tokens, 256);
  }
}

void add_pairs(Cases& cases) {
  constexpr unsigned kCount = 1u << 20;
  constexpr unsigned kGrid = kCount / 256;
  const bench::Buffer input = {4 * kCount, bench::Fill::kFloats}, output = {4 * kCount, bench::Fill::kZero};
  auto interleave = [&](const char* name, auto kernel, unsigned grid) {
    cases.push_back(
        {"interleave", name, {input, input, {8 * kCount, bench::Fill::kZero}}, [=](const bench::Pointers& p) {
           kernel<<<grid, 256>>>(at<const float>(p[0]), at<const float>(p[1]), at<float>(p[2]), kCount);
         }});
  };
  interleave("interleave_by_output", interleave_by_output, 2 * kGrid);
  interleave("interleave_by_input", interleave_by_input, kGrid);
  interleave("interleave_pairs", interleave_pairs, kGrid);
  const std::vector<bench::Buffer> parted = {{8 * kCount, bench::Fill::kFloats}, output, output};
  cases.push_back({"deinterleave", "deinterleave_by_element", parted, [](const bench::Pointers& p) {
                     part_by_element<<<kGrid, 256>>>(at<const float>(p[0]), at<float>(p[1]), at<float>(p[2]),
                                                     kCount);
                   }});
  cases.push_back({"deinterleave", "deinterleave_two_launches", parted, [](const bench::Pointers& p) {
                     part_one<<<kGrid, 256>>>(at<const float>(p[0]), at<float>(p[1]), 0, kCount);
                     part_one<<<kGrid, 256>>>(at<const float>(p[0]), at<float>(p[2]), 1, kCount);
                   }});
  cases.push_back({"deinterleave", "deinterleave_wide", parted, [](const bench::Pointers& p) {
                     part_wide<<<kGrid / 4, 256>>>(at<const float4>(p[0]), at<float4>(p[1]), at<float4>(p[2]),
                                                   kCount / 4);
                   }});
}

void add_sums(Cases& cases) {
  constexpr unsigned kCount = 1u << 18;
  constexpr unsigned kGrid = kCount / 256;
  const bench::Buffer input = {4 * kCount, bench::Fill::kFloats};
  const std::vector<bench::Buffer> buffers = {input, input, input, input, {4 * kCount, bench::Fill::kZero}};
  cases.push_back(
      {"add_four", "add_four_separate", buffers, [](const bench::Pointers& p) {
         add_two<<<kGrid, 256>>>(at<const float>(p[0]), at<const float>(p[1]), at<float>(p[4]), kCount);
         for (int k : {2, 3})
           add_two<<<kGrid, 256>>>(at<const float>(p[4]), at<const float>(p[k]), at<float>(p[4]), kCount);
       }});
  cases.push_back({"add_four", "add_four_fused", buffers, [](const bench::Pointers& p) {
                     add_four<<<kGrid, 256>>>(at<const float>(p[0]), at<const float>(p[1]),
                                              at<const float>(p[2]), at<const float>(p[3]), at<float>(p[4]),
                                              kCount);
                   }});
  cases.push_back({"add_four", "add_four_fused_wide", buffers, [](const bench::Pointers& p) {
                     add_four_wide<<<kGrid / 4, 256>>>(at<const float4>(p[0]), at<const float4>(p[1]),
                                                       at<const float4>(p[2]), at<const float4>(p[3]),
                                                       at<float4>(p[4]), kCount / 4);
                   }});
}

}  // namespace

int main(int argc, char** argv) {
  Cases cases;
  add_pitched(cases);
  add_embeddings(cases);
  add_pairs(cases);
  add_sums(cases);
  return bench::main_of(argc, argv, cases);
}
