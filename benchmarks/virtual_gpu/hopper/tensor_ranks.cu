// Tensor maps of one to five dimensions, with element strides, and tiles that come back through a store.
#include "tensor.cuh"

using namespace hopper;

constexpr int kMost = 4096;  // bytes of a box

template <int kRank>
__device__ void load_box(void* to, const CUtensorMap* map, const int* at, uint64_t* barrier) {
  const uint32_t address = shared_address(to), bar = shared_address(barrier);
#define LOAD(form, coordinates, ...)                                                                \
  asm volatile("cp.async.bulk.tensor." form                                                         \
               ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {" coordinates \
               "}], [%2];" ::"r"(address),                                                          \
               "l"(map), "r"(bar), __VA_ARGS__                                                      \
               : "memory")
  if constexpr (kRank == 1) LOAD("1d", "%3", "r"(at[0]));
  if constexpr (kRank == 2) LOAD("2d", "%3, %4", "r"(at[0]), "r"(at[1]));
  if constexpr (kRank == 3) LOAD("3d", "%3, %4, %5", "r"(at[0]), "r"(at[1]), "r"(at[2]));
  if constexpr (kRank == 4) LOAD("4d", "%3, %4, %5, %6", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]));
  if constexpr (kRank == 5)
    LOAD("5d", "%3, %4, %5, %6, %7", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]));
#undef LOAD
}

struct Corner {
  int at[5];
};

template <int kRank>
__global__ void fetch(const __grid_constant__ CUtensorMap map, Corner corner, int bytes, float* out) {
  __shared__ __align__(128) float tile[kMost / 4];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    arrive_expect(&barrier, bytes);
    load_box<kRank>(tile, &map, corner.at, &barrier);
  }
  wait(&barrier, 0);
  for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x) out[i] = tile[i];
}

template <int kRank>
void check(Report& report, const char* name, const std::vector<float>& values,
           const std::vector<cuuint64_t>& sizes, const std::vector<cuuint32_t>& box,
           const std::vector<cuuint32_t>& steps, const Corner& corner) {
  DeviceBuffer<float> tensor(values), out(kMost / 4);
  std::vector<cuuint64_t> strides;
  cuuint64_t stride = 4;
  for (int i = 0; i + 1 < kRank; ++i) strides.push_back(stride *= sizes[i]);
  const CUtensorMap map = tensor_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, tensor.get(), sizes, strides, box,
                                     CU_TENSOR_MAP_SWIZZLE_NONE, steps);
  int extent[5] = {1, 1, 1, 1, 1}, total = 1;
  for (int i = 0; i < kRank; ++i) {
    extent[i] = i == 0 ? box[0] : (box[i] + steps[i] - 1) / steps[i];
    total *= extent[i];
  }
  fetch<kRank><<<1, 64>>>(map, corner, total * 4, out.get());
  LAUNCHED_OK();
  std::vector<float> want(total), got = out.download();
  got.resize(total);
  for (int i = 0; i < total; ++i) {
    int rest = i;
    bool inside = true;
    size_t place = 0, pitch = 1;
    for (int d = 0; d < kRank; ++d) {
      const long long at = corner.at[d] + static_cast<long long>(rest % extent[d]) * (d == 0 ? 1 : steps[d]);
      rest /= extent[d];
      inside = inside && at >= 0 && at < static_cast<long long>(sizes[d]);
      place += static_cast<size_t>(at) * pitch;
      pitch *= sizes[d];
    }
    want[i] = inside ? values[place] : 0.0f;
  }
  report.equal(name, got, want);
}

int main() {
  Report report("tensor_ranks");
  Random random(42);
  std::vector<float> values(16 * 6 * 5 * 4 * 3);
  for (float& value : values) value = random.uniform(-1, 1);
  check<1>(report, "one", values, {100}, {64}, {1}, {{68}});
  check<2>(report, "two", values, {16, 30}, {8, 16}, {1, 1}, {{4, 20}});
  check<3>(report, "three", values, {16, 6, 15}, {8, 4, 5}, {1, 1, 1}, {{8, -1, 11}});
  check<4>(report, "four", values, {16, 6, 5, 12}, {8, 3, 2, 4}, {1, 1, 1, 1}, {{0, 4, 4, 9}});
  check<5>(report, "five", values, {16, 6, 5, 4, 3}, {4, 3, 3, 2, 2}, {1, 1, 1, 1, 1}, {{12, 2, -1, 3, 1}});
  check<3>(report, "steps", values, {16, 6, 15}, {8, 5, 7}, {1, 2, 3}, {{4, 1, 2}});
  return report.finish();
}
