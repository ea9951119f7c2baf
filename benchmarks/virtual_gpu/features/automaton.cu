// How often a pattern occurs in each of many texts: a table of transitions, one text per thread.
#include <string>

#include "../programs/check.cuh"

constexpr int kLetters = 3, kStates = 6, kLength = 80, kTexts = 70;  // the pattern has five letters

__global__ void count(const char* texts, const int* table, int* counts) {
  __shared__ int moves[kStates * kLetters];
  for (int i = threadIdx.x; i < kStates * kLetters; i += blockDim.x) moves[i] = table[i];
  __syncthreads();
  const int text = blockIdx.x * blockDim.x + threadIdx.x;
  if (text >= kTexts) return;
  int state = 0, found = 0;
  for (int i = 0; i < kLength; ++i) {
    state = moves[state * kLetters + (texts[i * kTexts + text] - 'a')];
    found += state == kStates - 1;
  }
  counts[text] = found;
}

int main() {
  Report report("automaton");
  const std::string pattern = "abaab";
  std::vector<int> table(kStates * kLetters);
  for (int state = 0; state < kStates; ++state)
    for (int letter = 0; letter < kLetters; ++letter) {
      std::string seen = pattern.substr(0, state) + static_cast<char>('a' + letter);
      while (seen.size() > pattern.size() || pattern.compare(0, seen.size(), seen) != 0) seen.erase(0, 1);
      table[state * kLetters + letter] = static_cast<int>(seen.size());
    }
  Random random(46);
  std::vector<char> texts(kLength * kTexts);
  for (char& letter : texts) letter = static_cast<char>('a' + random.below(5) / 2);
  std::vector<int> want(kTexts);
  for (int text = 0; text < kTexts; ++text) {
    std::string all;
    for (int i = 0; i < kLength; ++i) all += texts[i * kTexts + text];
    for (size_t at = all.find(pattern); at != std::string::npos; at = all.find(pattern, at + 1)) ++want[text];
  }
  DeviceBuffer<char> d_texts(texts);
  DeviceBuffer<int> d_table(table), counts(kTexts);
  count<<<2, 64>>>(d_texts.get(), d_table.get(), counts.get());
  LAUNCHED_OK();
  report.equal("counts", counts.download(), want);
  return report.finish();
}
