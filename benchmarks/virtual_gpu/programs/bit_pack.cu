// Codes of 2, 3, 4 and 8 bits packed into 32-bit words and unpacked again; 3-bit codes straddle words.
// Unpacked 4-bit codes also become halves by the exponent trick.
#include <cuda_fp16.h>

#include "check.cuh"

constexpr int kCount = 1000, kThreads = 128;

template <int kBits>
__global__ void pack(const uint8_t* codes, uint32_t* words, int count, int word_count) {
  const int w = blockIdx.x * blockDim.x + threadIdx.x;
  if (w >= word_count) return;
  uint32_t word = 0;
  // Every code with a bit in this word: the first may have begun in the word before.
  const int first = w * 32 / kBits, last = min(count - 1, (w * 32 + 31) / kBits);
  for (int c = first; c <= last; ++c) {
    const int place = c * kBits - w * 32;
    word |= place >= 0 ? static_cast<uint32_t>(codes[c]) << place : static_cast<uint32_t>(codes[c]) >> -place;
  }
  words[w] = word;
}

template <int kBits>
__global__ void unpack(const uint32_t* words, uint8_t* codes, int count, int word_count) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= count) return;
  const int w = c * kBits / 32, place = c * kBits % 32;
  const uint32_t next = w + 1 < word_count ? words[w + 1] : 0;
  codes[c] = static_cast<uint8_t>(__funnelshift_r(words[w], next, place) & ((1u << kBits) - 1));
}

template <int kBits>
void run(Report& report, const char* packed_name, const char* unpacked_name) {
  Random random(kBits);
  std::vector<uint8_t> codes(kCount);
  for (uint8_t& code : codes) code = static_cast<uint8_t>(random.below(1 << kBits));
  const int word_count = (kCount * kBits + 31) / 32;
  std::vector<uint32_t> want(word_count, 0);
  for (int bit = 0; bit < kCount * kBits; ++bit) {
    want[bit / 32] |= static_cast<uint32_t>(codes[bit / kBits] >> bit % kBits & 1) << bit % 32;
  }
  DeviceBuffer<uint8_t> input(codes), output(kCount);
  DeviceBuffer<uint32_t> words(word_count);
  pack<kBits><<<blocks_for(word_count, kThreads), kThreads>>>(input.get(), words.get(), kCount, word_count);
  LAUNCHED_OK();
  report.equal(packed_name, words.download(), want);
  unpack<kBits><<<blocks_for(kCount, kThreads), kThreads>>>(words.get(), output.get(), kCount, word_count);
  LAUNCHED_OK();
  report.equal(unpacked_name, output.download(), codes);
}

// 0x6400 is 1024 in half; its last four mantissa bits count in ones, so OR-ing a code in gives 1024 + code.
__global__ void unpack_halves(const uint32_t* words, __half2* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t word = words[i];
  for (int pair = 0; pair < 4; ++pair) {
    const uint32_t bits = (word >> 4 * pair & 0x000f000f) | 0x64006400;
    out[i * 4 + pair] = __hsub2(*reinterpret_cast<const __half2*>(&bits), __float2half2_rn(1024.0f + 8.0f));
  }
}

int main() {
  Report report("bit_pack");
  run<2>(report, "packed_2", "unpacked_2");
  run<3>(report, "packed_3", "unpacked_3");
  run<4>(report, "packed_4", "unpacked_4");
  run<8>(report, "packed_8", "unpacked_8");

  Random random(42);
  std::vector<uint32_t> words(64);
  std::vector<float> got, want;
  for (uint32_t& word : words) word = random.next32();
  DeviceBuffer<uint32_t> input(words);
  DeviceBuffer<__half2> output(words.size() * 4);
  unpack_halves<<<2, 32>>>(input.get(), output.get());
  LAUNCHED_OK();
  for (const __half2& pair : output.download()) {
    got.push_back(__low2float(pair));
    got.push_back(__high2float(pair));
  }
  for (uint32_t word : words) {
    for (int pair = 0; pair < 4; ++pair) {
      want.push_back(static_cast<float>(word >> 4 * pair & 15) - 8);
      want.push_back(static_cast<float>(word >> (4 * pair + 16) & 15) - 8);
    }
  }
  report.equal("halves", got, want);
  return report.finish();
}
