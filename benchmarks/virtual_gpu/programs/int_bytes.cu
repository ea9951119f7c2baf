// Byte shuffling and packed products: prmt in every mode, lop3 look-up tables, dp4a and dp2a.
#include "edges.cuh"

__global__ void permute(const uint32_t* values, int n, uint32_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * n) return;
  const uint32_t a = values[i / n], b = values[i % n], selector = a * 31 + b * 2654435761u;
  uint32_t d;
  Column<uint32_t> to{out, n * n, i};
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(selector));
  to.put(d);
  asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(selector));
  to.put(d);
  asm("prmt.b32.b4e %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(selector));
  to.put(d);
  asm("prmt.b32.rc8 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(selector));
  to.put(d);
  asm("prmt.b32.ecl %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(selector));
  to.put(d);
  asm("prmt.b32.ecr %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(selector));
  to.put(d);
  asm("prmt.b32.rc16 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(selector));
  to.put(d);
  to.put(__byte_perm(a, b, 0x6240));
}

uint8_t byte_of(uint64_t both, int index) {
  return static_cast<uint8_t>(both >> 8 * index);
}

uint32_t gather(uint64_t both, const int (&source)[4]) {
  uint32_t d = 0;
  for (int k = 0; k < 4; ++k) d |= static_cast<uint32_t>(byte_of(both, source[k])) << 8 * k;
  return d;
}

uint32_t permute_by_nibbles(uint64_t both, uint32_t selector) {
  uint32_t d = 0;
  for (int k = 0; k < 4; ++k) {
    const uint32_t nibble = selector >> 4 * k & 15;
    const uint8_t byte = byte_of(both, nibble & 7);
    // The nibble's top bit asks for eight copies of the byte's sign.
    d |= static_cast<uint32_t>(nibble & 8 ? (byte & 0x80 ? 0xff : 0) : byte) << 8 * k;
  }
  return d;
}

// Source bytes, lowest first, for each mode and selector 0 to 3.
const int kModes[6][4][4] = {
    {{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}},  // f4e
    {{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}},  // b4e
    {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}},  // rc8
    {{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}},  // ecl
    {{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}},  // ecr
    {{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}},  // rc16
};

template <int table>
__device__ uint32_t lop3(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t d;
  asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(a), "r"(b), "r"(c), "n"(table));
  return d;
}

__global__ void logic(const uint32_t* values, int n, uint32_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * n) return;
  const uint32_t a = values[i / n], b = values[i % n], c = a * 2246822519u ^ b;
  Column<uint32_t> to{out, n * n, i};
  to.put(lop3<0x96>(a, b, c));
  to.put(lop3<0xe8>(a, b, c));
  to.put(lop3<0xca>(a, b, c));
  to.put(lop3<0x1b>(a, b, c));
  to.put(lop3<0x00>(a, b, c));
  to.put(lop3<0xff>(a, b, c));
}

const int kTables[6] = {0x96, 0xe8, 0xca, 0x1b, 0x00, 0xff};

uint32_t look_up(int table, uint32_t a, uint32_t b, uint32_t c) {
  uint32_t d = 0;
  for (int bit = 0; bit < 32; ++bit) {
    const int row = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1);
    d |= static_cast<uint32_t>(table >> row & 1) << bit;
  }
  return d;
}

__global__ void dot_products(const uint32_t* values, int n, uint32_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * n) return;
  const uint32_t a = values[i / n], b = values[i % n], c = a ^ ~b;
  const int32_t sa = static_cast<int32_t>(a), sb = static_cast<int32_t>(b), sc = static_cast<int32_t>(c);
  int32_t mixed;
  Column<uint32_t> to{out, n * n, i};
  to.put(__dp4a(a, b, c));
  to.put(static_cast<uint32_t>(__dp4a(sa, sb, sc)));
  asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(mixed) : "r"(sa), "r"(b), "r"(sc));
  to.put(static_cast<uint32_t>(mixed));
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(mixed) : "r"(a), "r"(sb), "r"(sc));
  to.put(static_cast<uint32_t>(mixed));
  to.put(__dp2a_lo(a, b, c));
  to.put(__dp2a_hi(a, b, c));
  to.put(static_cast<uint32_t>(__dp2a_lo(sa, sb, sc)));
  to.put(static_cast<uint32_t>(__dp2a_hi(sa, sb, sc)));
}

int64_t lane(uint32_t word, int index, int width, bool is_signed) {
  const int64_t value = word >> index * width & ((1ull << width) - 1);
  return is_signed && value >> (width - 1) ? value - (1ll << width) : value;
}

uint32_t dot(uint32_t a, int a_width, bool a_signed, uint32_t b, bool b_signed, int b_first, int count,
             uint32_t c) {
  int64_t sum = c;
  for (int k = 0; k < count; ++k) sum += lane(a, k, a_width, a_signed) * lane(b, b_first + k, 8, b_signed);
  return static_cast<uint32_t>(sum);
}

int main() {
  Report report("int_bytes");
  const std::vector<uint32_t> values = edge_values_u32(20);
  const int n = static_cast<int>(values.size()), pairs = n * n;
  DeviceBuffer<uint32_t> input(values), permuted(8 * pairs), combined(6 * pairs), dots(8 * pairs);
  permute<<<blocks_for(pairs, 128), 128>>>(input.get(), n, permuted.get());
  LAUNCHED_OK();
  logic<<<blocks_for(pairs, 128), 128>>>(input.get(), n, combined.get());
  LAUNCHED_OK();
  dot_products<<<blocks_for(pairs, 128), 128>>>(input.get(), n, dots.get());
  LAUNCHED_OK();
  std::vector<uint32_t> want_permuted(8 * pairs), want_combined(6 * pairs), want_dots(8 * pairs);
  for (int i = 0; i < pairs; ++i) {
    const uint32_t a = values[i / n], b = values[i % n];
    const uint64_t both = static_cast<uint64_t>(b) << 32 | a;
    const uint32_t selector = a * 31 + b * 2654435761u;
    Column<uint32_t> permutations{want_permuted.data(), pairs, i};
    permutations.put(permute_by_nibbles(both, selector));
    for (const auto& mode : kModes) permutations.put(gather(both, mode[selector & 3]));
    permutations.put(permute_by_nibbles(both, 0x6240));

    const uint32_t c = a * 2246822519u ^ b;
    Column<uint32_t> logics{want_combined.data(), pairs, i};
    for (int table : kTables) logics.put(look_up(table, a, b, c));

    const uint32_t start = a ^ ~b;
    Column<uint32_t> products{want_dots.data(), pairs, i};
    products.put(dot(a, 8, false, b, false, 0, 4, start));
    products.put(dot(a, 8, true, b, true, 0, 4, start));
    products.put(dot(a, 8, true, b, false, 0, 4, start));
    products.put(dot(a, 8, false, b, true, 0, 4, start));
    products.put(dot(a, 16, false, b, false, 0, 2, start));
    products.put(dot(a, 16, false, b, false, 2, 2, start));
    products.put(dot(a, 16, true, b, true, 0, 2, start));
    products.put(dot(a, 16, true, b, true, 2, 2, start));
  }
  report.equal("permute", permuted.download(), want_permuted);
  report.equal("lop3", combined.download(), want_combined);
  report.equal("dot_products", dots.download(), want_dots);
  return report.finish();
}
