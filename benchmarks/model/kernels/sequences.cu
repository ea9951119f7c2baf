// The same work in one launch or in many, and chains of loads that wait for each other.
#include "bench.cuh"

namespace {

__global__ void add_one(const float4* from, float4* to, size_t units) {
  const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  if (i >= units) return;
  const float4 x = from[i];
  to[i] = make_float4(x.x + 1, x.y + 1, x.z + 1, x.w + 1);
}

__global__ void add_many(const float4* from, float4* to, size_t units, int times) {
  const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  if (i >= units) return;
  float4 x = from[i];
  for (int k = 0; k < times; ++k) x = make_float4(x.x + 1, x.y + 1, x.z + 1, x.w + 1);
  to[i] = x;
}

// `next` is a random permutation: no hop can start before the one before has come back.
__global__ void follow(const int* next, int* to, int hops) {
  int at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) * 32;
  for (int i = 0; i < hops; ++i) at = next[at];
  to[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<bench::Case> cases;
  for (const auto& [label, bytes] : {std::pair{"64k", size_t{64} << 10}, {"4m", size_t{4} << 20}}) {
    const std::string family = std::string("sequence_") + label;
    const std::vector<bench::Buffer> buffers = {{bytes, bench::Fill::kFloats}, {bytes, bench::Fill::kZero}};
    const size_t units = bytes / 16;
    const unsigned grid = bench::blocks_for(units, 256);
    for (int pieces : {2, 8})
      cases.push_back({family, family + "_in_" + std::to_string(pieces) + "_pieces", buffers,
                       [=](const bench::Pointers& p) {
                         for (int k = 0; k < pieces; ++k)
                           add_one<<<bench::blocks_for(units / pieces, 256), 256>>>(
                               static_cast<const float4*>(p[0]) + k * (units / pieces),
                               static_cast<float4*>(p[1]) + k * (units / pieces), units / pieces);
                       }});
    for (int times : {1, 4, 12})
      cases.push_back({family, family + "_added_" + std::to_string(times) + "_times", buffers,
                       [=](const bench::Pointers& p) {
                         for (int k = 0; k < times; ++k)
                           add_one<<<grid, 256>>>(static_cast<const float4*>(p[k ? 1 : 0]),
                                                  static_cast<float4*>(p[1]), units);
                       }});
    cases.push_back({family, family + "_fused", buffers, [=](const bench::Pointers& p) {
                       add_many<<<grid, 256>>>(static_cast<const float4*>(p[0]), static_cast<float4*>(p[1]),
                                               units, 12);
                     }});
  }
  for (int hops : {8, 32, 128})
    cases.push_back({"chains",
                     "chain_of_" + std::to_string(hops),
                     {{size_t{16} << 20, bench::Fill::kShuffled}, {128, bench::Fill::kZero}},
                     [=](const bench::Pointers& p) {
                       follow<<<1, 32>>>(static_cast<const int*>(p[0]), static_cast<int*>(p[1]), hops);
                     }});
  return bench::main_of(argc, argv, cases);
}
