// Blocks of 4×4 bytes transposed in registers with byte permutations, and words with their bytes in reverse.
#include "../programs/check.cuh"

__global__ void transpose(const uint4* in, uint4* out, uint32_t* reversed) {
  const int i = threadIdx.x;
  const uint4 r = in[i];
  const uint32_t low_a = __byte_perm(r.x, r.y, 0x5140), low_b = __byte_perm(r.z, r.w, 0x5140);
  const uint32_t high_a = __byte_perm(r.x, r.y, 0x7362), high_b = __byte_perm(r.z, r.w, 0x7362);
  out[i] = make_uint4(__byte_perm(low_a, low_b, 0x5410), __byte_perm(low_a, low_b, 0x7632),
                      __byte_perm(high_a, high_b, 0x5410), __byte_perm(high_a, high_b, 0x7632));
  reversed[i] = __byte_perm(r.x, 0, 0x0123) ^ __brev(r.y);
}

int main() {
  Report report("byte_transpose");
  Random random(59);
  std::vector<uint32_t> words(4 * 64), want(4 * 64), reversed(64);
  for (uint32_t& word : words) word = random.next32();
  for (int i = 0; i < 64; ++i) {
    for (int row = 0; row < 4; ++row)
      for (int column = 0; column < 4; ++column)
        want[4 * i + column] |= (words[4 * i + row] >> (8 * column) & 255) << (8 * row);
    for (int b = 0; b < 4; ++b) reversed[i] |= (words[4 * i] >> (8 * b) & 255) << (24 - 8 * b);
    for (int b = 0; b < 32; ++b) reversed[i] ^= (words[4 * i + 1] >> b & 1) << (31 - b);
  }
  DeviceBuffer<uint32_t> input(words), output(4 * 64), second(64);
  transpose<<<1, 64>>>(reinterpret_cast<const uint4*>(input.get()), reinterpret_cast<uint4*>(output.get()),
                       second.get());
  LAUNCHED_OK();
  report.equal("blocks", output.download(), want);
  report.equal("reversed", second.download(), reversed);
  return report.finish();
}
