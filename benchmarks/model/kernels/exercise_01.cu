// Exercise 01's store, around one implementation of it: KERNEL is its path in the repository. The sizes are
// those that the exercise is benched with.
#define TEXT_OF(path) #path
#define QUOTED(path) TEXT_OF(path)
#include QUOTED(KERNEL)

#include "bench.cuh"

int main(int argc, char** argv) {
  constexpr int kHeadDim = 128;
  constexpr size_t kMostFilled = 64u << 20;  // beyond, making values would take longer than all else
  std::vector<bench::Case> cases;
  for (const auto& [tokens, heads] : {std::pair{1, 8},
                                      {4, 8},
                                      {16, 8},
                                      {64, 8},
                                      {256, 8},
                                      {1024, 8},
                                      {4096, 8},
                                      {16384, 8},
                                      {65536, 8},
                                      {262144, 8},
                                      {64, 1},
                                      {4096, 1},
                                      {262144, 1}}) {
    const int64_t row = int64_t{heads} * kHeadDim;
    const size_t bytes = sizeof(__half) * static_cast<size_t>(row) * tokens;
    const std::string size = std::to_string(tokens) + "x" + std::to_string(heads);
    // q, k and v of a token lie side by side; every cache row is named once.
    cases.push_back({"exercise_01_" + size,
                     size,
                     {{3 * bytes, bytes < kMostFilled ? bench::Fill::kHalves : bench::Fill::kZero},
                      {sizeof(int) * static_cast<size_t>(tokens), bench::Fill::kShuffled},
                      {bytes, bench::Fill::kZero},
                      {bytes, bench::Fill::kZero}},
                     [=, tokens = tokens, heads = heads](const bench::Pointers& p) {
                       const auto* qkv = static_cast<const __half*>(p[0]);
                       const int error =
                           fused_store_kv_async(static_cast<__half*>(p[2]), static_cast<__half*>(p[3]),
                                                static_cast<const int*>(p[1]), qkv + row, qkv + 2 * row,
                                                3 * row, 3 * row, row, row, tokens, heads, kHeadDim, nullptr);
                       bench::check(static_cast<cudaError_t>(error), "fused_store_kv_async");
                     }});
  }
  return bench::main_of(argc, argv, cases);
}
