// Counting and finding bits (popc, clz, brev, ffs, bfind) and bit fields (bfe, bfi), in 32 and 64 bits.
#include "edges.cuh"

__global__ void count_bits(const uint64_t* values, int n, uint64_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const uint64_t x = values[i];
  const uint32_t low = static_cast<uint32_t>(x);
  Column<uint64_t> to{out, n, i};
  to.put(__popc(low));
  to.put(__clz(low));
  to.put(__brev(low));
  to.put(__ffs(low));
  to.put(__popcll(x));
  to.put(__clzll(x));
  to.put(__brevll(x));
  to.put(__ffsll(x));
  uint32_t found;
  asm("bfind.u32 %0, %1;" : "=r"(found) : "r"(low));
  to.put(found);
  asm("bfind.s32 %0, %1;" : "=r"(found) : "r"(low));
  to.put(found);
  asm("bfind.shiftamt.u32 %0, %1;" : "=r"(found) : "r"(low));
  to.put(found);
  asm("bfind.u64 %0, %1;" : "=r"(found) : "l"(x));
  to.put(found);
  asm("bfind.s64 %0, %1;" : "=r"(found) : "l"(x));
  to.put(found);
}

uint64_t reversed(uint64_t x, int width) {
  uint64_t y = 0;
  for (int bit = 0; bit < width; ++bit) y |= (x >> bit & 1) << (width - 1 - bit);
  return y;
}
int highest(uint64_t x) {
  int bit = 63;
  while (bit >= 0 && !(x >> bit & 1)) --bit;
  return bit;
}
int lowest(uint64_t x) {
  for (int bit = 0; bit < 64; ++bit) {
    if (x >> bit & 1) return bit;
  }
  return -1;
}
int ones(uint64_t x) {
  int count = 0;
  for (; x != 0; x >>= 1) count += x & 1;
  return count;
}

void reference_counts(const std::vector<uint64_t>& values, std::vector<uint64_t>& out) {
  const int n = static_cast<int>(values.size());
  for (int i = 0; i < n; ++i) {
    const uint64_t x = values[i];
    const uint32_t low = static_cast<uint32_t>(x);
    const uint32_t low_flipped = low >> 31 ? ~low : low;
    const uint64_t flipped = x >> 63 ? ~x : x;
    Column<uint64_t> to{out.data(), n, i};
    to.put(ones(low));
    to.put(31 - highest(low));
    to.put(reversed(low, 32));
    to.put(lowest(low) + 1);
    to.put(ones(x));
    to.put(63 - highest(x));
    to.put(reversed(x, 64));
    to.put(lowest(x) + 1);
    to.put(static_cast<uint32_t>(highest(low)));
    to.put(static_cast<uint32_t>(highest(low_flipped)));
    to.put(low == 0 ? 0xffffffffu : 31 - highest(low));
    to.put(static_cast<uint32_t>(highest(x)));
    to.put(static_cast<uint32_t>(highest(flipped)));
  }
}

__global__ void bit_fields(const uint64_t* values, int n, const uint32_t* places, int m, uint64_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * m * m) return;
  const uint64_t x = values[i / (m * m)], base = x * 0x9e3779b97f4a7c15ull;
  const uint32_t low = static_cast<uint32_t>(x), low_base = static_cast<uint32_t>(base);
  const uint32_t position = places[i / m % m], length = places[i % m];
  uint32_t field;
  uint64_t wide_field;
  Column<uint64_t> to{out, n * m * m, i};
  asm("bfe.u32 %0, %1, %2, %3;" : "=r"(field) : "r"(low), "r"(position), "r"(length));
  to.put(field);
  asm("bfe.s32 %0, %1, %2, %3;" : "=r"(field) : "r"(low), "r"(position), "r"(length));
  to.put(field);
  asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(field) : "r"(low), "r"(low_base), "r"(position), "r"(length));
  to.put(field);
  asm("bfe.u64 %0, %1, %2, %3;" : "=l"(wide_field) : "l"(x), "r"(position), "r"(length));
  to.put(wide_field);
  asm("bfe.s64 %0, %1, %2, %3;" : "=l"(wide_field) : "l"(x), "r"(position), "r"(length));
  to.put(wide_field);
  asm("bfi.b64 %0, %1, %2, %3, %4;" : "=l"(wide_field) : "l"(x), "l"(base), "r"(position), "r"(length));
  to.put(wide_field);
}

uint64_t extract(uint64_t x, uint32_t position, uint32_t length, int width, bool is_signed) {
  uint64_t field = 0;
  const uint32_t top =
      position + length - 1 < static_cast<uint32_t>(width) ? position + length - 1 : width - 1;
  const uint64_t sign = is_signed && length > 0 ? x >> top & 1 : 0;
  for (int bit = 0; bit < width; ++bit) {
    const uint32_t from = position + bit;
    const bool inside = static_cast<uint32_t>(bit) < length && from < static_cast<uint32_t>(width);
    field |= (inside ? x >> from & 1 : sign) << bit;
  }
  return field;
}

uint64_t insert(uint64_t x, uint64_t base, uint32_t position, uint32_t length, int width) {
  for (uint32_t bit = 0; bit < length && position + bit < static_cast<uint32_t>(width); ++bit) {
    base = (base & ~(1ull << (position + bit))) | (x >> bit & 1) << (position + bit);
  }
  return base;
}

int main() {
  Report report("int_bits");
  const std::vector<uint64_t> values = edge_values_u64(44);
  {
    const int n = static_cast<int>(values.size());
    DeviceBuffer<uint64_t> input(values), output(13 * n);
    count_bits<<<blocks_for(n, 64), 64>>>(input.get(), n, output.get());
    LAUNCHED_OK();
    std::vector<uint64_t> want(output.count());
    reference_counts(values, want);
    report.equal("counts", output.download(), want);
  }
  {
    const std::vector<uint64_t> some(values.begin() + 12, values.begin() + 32);
    const std::vector<uint32_t> places = {0, 1, 5, 16, 31, 32, 33, 40, 63, 64, 200};
    const int n = static_cast<int>(some.size()), m = static_cast<int>(places.size()), count = n * m * m;
    DeviceBuffer<uint64_t> input(some), output(6 * count);
    DeviceBuffer<uint32_t> place_input(places);
    bit_fields<<<blocks_for(count, 128), 128>>>(input.get(), n, place_input.get(), m, output.get());
    LAUNCHED_OK();
    std::vector<uint64_t> want(output.count());
    for (int i = 0; i < count; ++i) {
      const uint64_t x = some[i / (m * m)], base = x * 0x9e3779b97f4a7c15ull;
      const uint32_t position = places[i / m % m], length = places[i % m];
      Column<uint64_t> to{want.data(), count, i};
      to.put(extract(x & 0xffffffffu, position, length, 32, false));
      to.put(extract(x & 0xffffffffu, position, length, 32, true));
      to.put(insert(x & 0xffffffffu, base & 0xffffffffu, position, length, 32));
      to.put(extract(x, position, length, 64, false));
      to.put(extract(x, position, length, 64, true));
      to.put(insert(x, base, position, length, 64));
    }
    report.equal("fields", output.download(), want);
  }
  return report.finish();
}
