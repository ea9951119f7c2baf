// How many bits are set before a place, and where the k-th set bit lies, in a long row of bits.
#include "../programs/check.cuh"

constexpr int kWords = 64;

__global__ void answer(const uint32_t* words, const int* before, const int* places, int* ranks,
                       int* selects) {
  const int i = threadIdx.x, place = places[i];
  ranks[i] = before[place / 32] + __popc(words[place / 32] & ((1u << (place % 32)) - 1));
  int word = 0;
  while (word + 1 < kWords && before[word + 1] <= i) ++word;
  uint32_t bits = words[word];
  for (int left = i - before[word]; left > 0; --left) bits &= bits - 1;
  selects[i] = word * 32 + __ffs(static_cast<int>(bits)) - 1;
}

int main() {
  Report report("rank_select");
  Random random(51);
  std::vector<uint32_t> words(kWords);
  std::vector<int> before(kWords), places(128), ranks(128), selects;
  int sum = 0;
  for (int w = 0; w < kWords; ++w) {
    words[w] = random.next32() & random.next32();
    before[w] = sum;
    for (int bit = 0; bit < 32; ++bit)
      if (words[w] >> bit & 1) {
        ++sum;
        if (selects.size() < 128) selects.push_back(w * 32 + bit);
      }
  }
  for (int i = 0; i < 128; ++i) {
    places[i] = random.below(kWords * 32);
    for (int bit = 0; bit < places[i]; ++bit) ranks[i] += words[bit / 32] >> (bit % 32) & 1;
  }
  DeviceBuffer<uint32_t> d_words(words);
  DeviceBuffer<int> d_before(before), d_places(places), d_ranks(128), d_selects(128);
  answer<<<1, 128>>>(d_words.get(), d_before.get(), d_places.get(), d_ranks.get(), d_selects.get());
  LAUNCHED_OK();
  report.equal("ranks", d_ranks.download(), ranks);
  report.equal("selects", d_selects.download(), selects);
  return report.finish();
}
