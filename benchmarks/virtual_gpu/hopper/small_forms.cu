// Smaller instructions of sm_90: elect.sync, stmatrix in all its forms, griddepcontrol, and a launch that
// depends on another one.
#include "../programs/check.cuh"
#include "instructions.cuh"

using namespace hopper;

__global__ void elect(uint32_t* out) {
  uint32_t leader, is_leader;
  asm volatile("{.reg .pred p; elect.sync %0|p, 0xffffffff; selp.u32 %1, 1, 0, p;}"
               : "=r"(leader), "=r"(is_leader));
  out[threadIdx.x] = leader * 2 + is_leader;
}

template <int kCount, bool kTransposed>
__global__ void store_matrices(uint16_t* out) {
  __shared__ __align__(16) uint16_t tile[32 * 8];
  const int lane = threadIdx.x;
  const uint32_t row = shared_address(&tile[lane % (8 * kCount) * 8]);
  uint32_t r[4];
  for (int m = 0; m < 4; ++m) r[m] = (m * 1000 + lane * 2) | (m * 1000 + lane * 2 + 1) << 16;
  if constexpr (kCount == 1 && !kTransposed)
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(row), "r"(r[0]) : "memory");
  if constexpr (kCount == 2 && !kTransposed)
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(row), "r"(r[0]), "r"(r[1])
                 : "memory");
  if constexpr (kCount == 4 && !kTransposed)
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(r[0]),
                 "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
  if constexpr (kCount == 1 && kTransposed)
    asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(row), "r"(r[0])
                 : "memory");
  if constexpr (kCount == 2 && kTransposed)
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(row), "r"(r[0]),
                 "r"(r[1])
                 : "memory");
  if constexpr (kCount == 4 && kTransposed)
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row),
                 "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
  __syncwarp();
  for (int i = lane; i < kCount * 64; i += 32) out[i] = tile[i];
}

template <int kCount, bool kTransposed>
void check_store(Report& report, const char* name) {
  DeviceBuffer<uint16_t> out(kCount * 64);
  store_matrices<kCount, kTransposed><<<1, 32>>>(out.get());
  LAUNCHED_OK();
  std::vector<uint16_t> want(kCount * 64);
  for (int m = 0; m < kCount; ++m)
    for (int row = 0; row < 8; ++row)
      for (int column = 0; column < 8; ++column)
        want[m * 64 + (kTransposed ? column * 8 + row : row * 8 + column)] =
            static_cast<uint16_t>(m * 1000 + row * 8 + column);
  report.equal(name, out.download(), want);
}

__global__ void first(int* data) {
  data[threadIdx.x] = static_cast<int>(threadIdx.x) + 5;
  asm volatile("griddepcontrol.launch_dependents;");
}
__global__ void second(const int* data, int* out) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  out[threadIdx.x] = data[threadIdx.x] * 2;
}

int main() {
  Report report("small_forms");
  DeviceBuffer<uint32_t> out(32);
  elect<<<1, 32>>>(out.get());
  LAUNCHED_OK();
  const std::vector<uint32_t> got = out.download();
  const uint32_t leader = got[0] / 2;
  uint32_t leaders = 0;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    leaders += got[lane] & 1;
    report.check(got[lane] / 2 == leader && (got[lane] & 1) == (lane == leader),
                 "all lanes know the one leader");
  }
  report.check(leaders == 1, "there is one leader");
  check_store<1, false>(report, "x1");
  check_store<2, false>(report, "x2");
  check_store<4, false>(report, "x4");
  check_store<1, true>(report, "x1_transposed");
  check_store<2, true>(report, "x2_transposed");
  check_store<4, true>(report, "x4_transposed");

  DeviceBuffer<int> data(64), doubled(64);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(64);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CUDA_OK(cudaLaunchKernelEx(&config, first, data.get()));
  CUDA_OK(cudaLaunchKernelEx(&config, second, static_cast<const int*>(data.get()), doubled.get()));
  LAUNCHED_OK();
  std::vector<int> want(64);
  for (int i = 0; i < 64; ++i) want[i] = (i + 5) * 2;
  report.equal("dependent", doubled.download(), want);
  return report.finish();
}
