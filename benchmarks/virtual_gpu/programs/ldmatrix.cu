// ldmatrix x1, x2 and x4, plain and transposed: which lane receives which pair of 16-bit elements.
#include "fragments.cuh"

constexpr int kRows = 32, kPitch = 24;  // rows padded to 48 bytes: still 16-byte aligned

__global__ void load(const uint16_t* in, uint32_t* out) {
  __shared__ __align__(16) uint16_t tile[kRows * kPitch];
  const int lane = threadIdx.x;
  for (int k = lane; k < kRows * kPitch; k += 32) tile[k] = in[k];
  __syncwarp();
  // Lane l names row l of the stacked 8 x 8 matrices; with x1 and x2 the upper lanes' addresses are ignored.
  const unsigned address = shared_address(tile + lane * kPitch + 8);
  uint32_t r[4];
  Column<uint32_t> to{out, 32, lane};
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(address) : "memory");
  to.put(r[0]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
               : "=r"(r[0])
               : "r"(address)
               : "memory");
  to.put(r[0]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(address)
               : "memory");
  to.put(r[0]);
  to.put(r[1]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(address)
               : "memory");
  to.put(r[0]);
  to.put(r[1]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
  for (uint32_t word : r) to.put(word);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
  for (uint32_t word : r) to.put(word);
}

int main() {
  Report report("ldmatrix");
  Random random(26);
  std::vector<uint16_t> in(kRows * kPitch);
  for (uint16_t& value : in) value = static_cast<uint16_t>(random.next32());
  std::vector<uint32_t> want(14 * 32);
  const auto element = [&](int matrix, int row, int column) -> uint32_t {
    return in[(matrix * 8 + row) * kPitch + 8 + column];
  };
  for (int lane = 0; lane < 32; ++lane) {
    const int row = lane / 4, column = lane % 4 * 2;
    Column<uint32_t> to{want.data(), 32, lane};
    for (int matrices : {1, 2, 4}) {
      for (int m = 0; m < matrices; ++m) to.put(element(m, row, column + 1) << 16 | element(m, row, column));
      for (int m = 0; m < matrices; ++m) to.put(element(m, column + 1, row) << 16 | element(m, column, row));
    }
  }
  DeviceBuffer<uint16_t> input(in);
  DeviceBuffer<uint32_t> output(14 * 32);
  load<<<1, 32>>>(input.get(), output.get());
  LAUNCHED_OK();
  report.equal("fragments", output.download(), want);
  return report.finish();
}
