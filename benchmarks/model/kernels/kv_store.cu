// A KV cache's store: rows of K and V, slices of one qkv tensor, go to the cache rows that an index names.
// 8 heads of 128 halves: 2 KiB a row, 128 units of 16 bytes.
#include "bench.cuh"

namespace {

constexpr int kUnits = 128;              // 16-byte units of a K or V row
constexpr int kTokenUnits = 3 * kUnits;  // q, k and v lie side by side

struct Rows {
  const int* index;
  const uint4* k;  // row stride kTokenUnits
  const uint4* v;
  uint4* k_cache;  // row stride kUnits
  uint4* v_cache;
  int tokens;
  int units;
};

__device__ void copy_row(uint4* to, const uint4* from, int units) {
  for (int i = threadIdx.x % 32; i < units; i += 32) to[i] = from[i];
}

__global__ void warp_per_token(Rows rows) {
  const int token = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (token >= rows.tokens) return;
  const size_t slot = rows.index[token];
  copy_row(rows.k_cache + slot * kUnits, rows.k + size_t{kTokenUnits} * token, rows.units);
  copy_row(rows.v_cache + slot * kUnits, rows.v + size_t{kTokenUnits} * token, rows.units);
}

__global__ void warp_per_row(const int* index, const uint4* from, uint4* to, int tokens, int units) {
  const int token = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (token >= tokens) return;
  copy_row(to + static_cast<size_t>(index[token]) * kUnits, from + size_t{kTokenUnits} * token, units);
}

__global__ void block_per_token_async(Rows rows) {
  __shared__ uint4 stage[2 * kUnits];
  const int token = blockIdx.x, i = threadIdx.x;
  const uint4* from = i < kUnits ? rows.k + size_t{kTokenUnits} * token + i
                                 : rows.v + size_t{kTokenUnits} * token + i - kUnits;
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(&stage[i]));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  const size_t slot = rows.index[token];
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  uint4* cache = i < kUnits ? rows.k_cache + slot * kUnits + i : rows.v_cache + slot * kUnits + i - kUnits;
  *cache = stage[i];
}

__global__ void loads_first(Rows rows) {
  const int token = blockIdx.x, i = threadIdx.x;
  const uint4 k = rows.k[size_t{kTokenUnits} * token + i];
  const uint4 v = rows.v[size_t{kTokenUnits} * token + i];
  const size_t slot = rows.index[token];
  rows.k_cache[slot * kUnits + i] = k;
  rows.v_cache[slot * kUnits + i] = v;
}

__global__ void warp_per_token_loads_first(Rows rows) {
  const int token = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (token >= rows.tokens) return;
  const uint4* k_row = rows.k + size_t{kTokenUnits} * token;
  const uint4* v_row = rows.v + size_t{kTokenUnits} * token;
  uint4 k[kUnits / 32], v[kUnits / 32];
#pragma unroll
  for (int i = 0; i < kUnits / 32; ++i) {
    k[i] = k_row[i * 32 + lane];
    v[i] = v_row[i * 32 + lane];
  }
  const size_t slot = rows.index[token];
#pragma unroll
  for (int i = 0; i < kUnits / 32; ++i) {
    rows.k_cache[slot * kUnits + i * 32 + lane] = k[i];
    rows.v_cache[slot * kUnits + i * 32 + lane] = v[i];
  }
}

Rows rows_of(const bench::Pointers& p, int tokens) {
  const auto* qkv = static_cast<const uint4*>(p[0]);
  return {static_cast<const int*>(p[1]),
          qkv + kUnits,
          qkv + 2 * kUnits,
          static_cast<uint4*>(p[2]),
          static_cast<uint4*>(p[3]),
          tokens,
          kUnits};
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<bench::Case> cases;
  for (int tokens : {1, 16, 64, 256, 1024, 4096, 16384}) {
    const size_t cache = size_t{16} * kUnits * tokens;
    const std::vector<bench::Buffer> buffers = {{3 * cache, bench::Fill::kHalves},
                                                {size_t{4} * tokens, bench::Fill::kShuffled},
                                                {cache, bench::Fill::kZero},
                                                {cache, bench::Fill::kZero}};
    const std::string size = "_" + std::to_string(tokens), family = "kv_store" + size;
    const unsigned token_warps = bench::blocks_for(tokens, 8);
    auto add = [&](const char* name, std::function<void(const bench::Pointers&)> run) {
      cases.push_back({family, name + size, buffers, std::move(run)});
    };
    add("kv_baseline",
        [=](const bench::Pointers& p) { warp_per_token<<<token_warps, 256>>>(rows_of(p, tokens)); });
    add("kv_async",
        [=](const bench::Pointers& p) { block_per_token_async<<<tokens, 256>>>(rows_of(p, tokens)); });
    add("kv_loads_first",
        [=](const bench::Pointers& p) { loads_first<<<tokens, 128>>>(rows_of(p, tokens)); });
    add("kv_warp_loads_first", [=](const bench::Pointers& p) {
      warp_per_token_loads_first<<<token_warps, 256>>>(rows_of(p, tokens));
    });
    add("kv_two_launches", [=](const bench::Pointers& p) {
      const Rows r = rows_of(p, tokens);
      warp_per_row<<<token_warps, 256>>>(r.index, r.k, r.k_cache, tokens, kUnits);
      warp_per_row<<<token_warps, 256>>>(r.index, r.v, r.v_cache, tokens, kUnits);
    });
  }
  return bench::main_of(argc, argv, cases);
}
