// Copies of one size by unit width, by stride and through an index.
#include "bench.cuh"

namespace {

template <class Unit>
__global__ void copy_units(const Unit* from, Unit* to, size_t units) {
  const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  if (i < units) to[i] = from[i];
}

template <class Unit>
__global__ void copy_grid_stride(const Unit* from, Unit* to, size_t units) {
  const size_t step = size_t{gridDim.x} * blockDim.x;
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < units; i += step) to[i] = from[i];
}

// Each thread has four loads in flight before its first store.
__global__ void copy_four_apiece(const float4* __restrict__ from, float4* __restrict__ to, size_t units) {
  const size_t first = blockIdx.x * size_t{blockDim.x} * 4 + threadIdx.x;
  float4 kept[4];
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if (first + k * blockDim.x < units) kept[k] = from[first + k * blockDim.x];
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if (first + k * blockDim.x < units) to[first + k * blockDim.x] = kept[k];
}

__global__ void read_strided(const float* from, float* to, size_t count, size_t stride) {
  const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  if (i < count) to[i] = from[i * stride];
}

__global__ void write_strided(const float* from, float* to, size_t count, size_t stride) {
  const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  if (i < count) to[i * stride] = from[i];
}

// Rows of `units` floats, in the order an index names.
__global__ void gather_rows(const float* from, const int* index, float* to, size_t count, int units) {
  const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  if (i >= count) return;
  const size_t row = i / units, column = i % units;
  to[i] = from[size_t{static_cast<unsigned>(index[row])} * units + column];
}

__global__ void scatter_rows(const float* from, const int* index, float* to, size_t count, int units) {
  const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  if (i >= count) return;
  const size_t row = i / units, column = i % units;
  to[size_t{static_cast<unsigned>(index[row])} * units + column] = from[i];
}

template <class Unit>
bench::Case plain(const std::string& family, const std::string& name, size_t bytes) {
  return {family,
          name,
          {{bytes, bench::Fill::kFloats}, {bytes, bench::Fill::kZero}},
          [=](const bench::Pointers& p) {
            const size_t units = bytes / sizeof(Unit);
            copy_units<<<bench::blocks_for(units, 256), 256>>>(static_cast<const Unit*>(p[0]),
                                                               static_cast<Unit*>(p[1]), units);
          }};
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<bench::Case> cases;
  for (const auto& [label, bytes] :
       {std::pair{"256k", size_t{256} << 10}, {"4m", size_t{4} << 20}, {"16m", size_t{16} << 20}}) {
    const std::string family = std::string("copy_") + label;
    cases.push_back(plain<uint8_t>(family, family + "_1_byte", bytes));
    cases.push_back(plain<uint16_t>(family, family + "_2_bytes", bytes));
    cases.push_back(plain<float>(family, family + "_4_bytes", bytes));
    cases.push_back(plain<float2>(family, family + "_8_bytes", bytes));
    cases.push_back(plain<float4>(family, family + "_16_bytes", bytes));
    const std::vector<bench::Buffer> both = {{bytes, bench::Fill::kFloats}, {bytes, bench::Fill::kZero}};
    const size_t units = bytes / 16;
    cases.push_back({family, family + "_four_apiece", both, [=](const bench::Pointers& p) {
                       copy_four_apiece<<<bench::blocks_for(units, 1024), 256>>>(
                           static_cast<const float4*>(p[0]), static_cast<float4*>(p[1]), units);
                     }});
    cases.push_back({family, family + "_grid_stride", both, [=](const bench::Pointers& p) {
                       copy_grid_stride<<<264, 256>>>(static_cast<const float4*>(p[0]),
                                                      static_cast<float4*>(p[1]), units);
                     }});
  }
  constexpr size_t kCount = size_t{1} << 20;
  for (size_t stride : {1, 2, 4, 8, 16, 32}) {
    const std::string number = std::to_string(stride);
    cases.push_back({"strided_reads",
                     "read_stride_" + number,
                     {{4 * kCount * stride, bench::Fill::kFloats}, {4 * kCount, bench::Fill::kZero}},
                     [=](const bench::Pointers& p) {
                       read_strided<<<kCount / 256, 256>>>(static_cast<const float*>(p[0]),
                                                           static_cast<float*>(p[1]), kCount, stride);
                     }});
    cases.push_back({"strided_writes",
                     "write_stride_" + number,
                     {{4 * kCount, bench::Fill::kFloats}, {4 * kCount * stride, bench::Fill::kZero}},
                     [=](const bench::Pointers& p) {
                       write_strided<<<kCount / 256, 256>>>(static_cast<const float*>(p[0]),
                                                            static_cast<float*>(p[1]), kCount, stride);
                     }});
  }
  for (int units : {1, 8, 32, 256}) {
    constexpr size_t kFloats = size_t{2} << 20;
    const std::vector<bench::Buffer> buffers = {{4 * kFloats, bench::Fill::kFloats},
                                                {4 * kFloats / units, bench::Fill::kShuffled},
                                                {4 * kFloats, bench::Fill::kZero}};
    const std::string rows = std::to_string(4 * units) + "_bytes";
    const auto with = [=](auto kernel) {
      return [=](const bench::Pointers& p) {
        kernel<<<kFloats / 256, 256>>>(static_cast<const float*>(p[0]), static_cast<const int*>(p[1]),
                                       static_cast<float*>(p[2]), kFloats, units);
      };
    };
    cases.push_back({"gathers", "gather_rows_" + rows, buffers, with(gather_rows)});
    cases.push_back({"scatters", "scatter_rows_" + rows, buffers, with(scatter_rows)});
  }
  return bench::main_of(argc, argv, cases);
}
