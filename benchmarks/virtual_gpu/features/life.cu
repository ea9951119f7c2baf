// The game of life on a torus, whose cells are bits of words.
#include "../programs/check.cuh"

constexpr int kRows = 48;

__host__ __device__ uint32_t rotated(uint32_t x, int by) {
  return by == 0 ? x : x << by | x >> (32 - by);
}

__host__ __device__ uint32_t next_row(uint32_t up, uint32_t own, uint32_t down) {
  uint32_t ones = 0, twos = 0, fours = 0;
  const uint32_t around[8] = {rotated(up, 1),   up,   rotated(up, 31),  rotated(own, 1), rotated(own, 31),
                              rotated(down, 1), down, rotated(down, 31)};
  for (uint32_t cell : around) {
    const uint32_t carry = ones & cell, over = twos & carry;
    ones ^= cell;
    twos ^= carry;
    fours |= over;
  }
  return twos & ~fours & (ones | own);
}

__global__ void generation(const uint32_t* in, uint32_t* out) {
  const int i = threadIdx.x;
  out[i] = next_row(in[(i + kRows - 1) % kRows], in[i], in[(i + 1) % kRows]);
}

int main() {
  Report report("life");
  Random random(18);
  std::vector<uint32_t> cells(kRows), next(kRows);
  for (uint32_t& row : cells) row = random.next32() & random.next32();
  DeviceBuffer<uint32_t> a(cells), b(kRows);
  for (int step = 0; step < 10; ++step)
    generation<<<1, kRows>>>((step % 2 == 0 ? a : b).get(), (step % 2 == 0 ? b : a).get());
  LAUNCHED_OK();
  // By counting, cell by cell.
  for (int step = 0; step < 10; ++step) {
    for (int y = 0; y < kRows; ++y) {
      next[y] = 0;
      for (int x = 0; x < 32; ++x) {
        int count = 0;
        for (int dy = -1; dy <= 1; ++dy)
          for (int dx = -1; dx <= 1; ++dx)
            if (dx != 0 || dy != 0) count += cells[(y + dy + kRows) % kRows] >> ((x + dx) & 31) & 1;
        const bool alive = (cells[y] >> x & 1) != 0;
        next[y] |= static_cast<uint32_t>(count == 3 || (alive && count == 2)) << x;
      }
    }
    cells.swap(next);
  }
  report.equal("cells", a.download(), cells);
  return report.finish();
}
