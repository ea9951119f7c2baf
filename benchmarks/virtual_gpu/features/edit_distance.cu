// Levenshtein distances: a wavefront over a table in shared memory, one pair of words per block.
#include <algorithm>
#include <string>

#include "../programs/check.cuh"

constexpr int kLength = 24;

__global__ void distance(const char* words, int* out) {
  __shared__ int rows[3][kLength + 1];
  const char *a = words + 2 * blockIdx.x * kLength, *b = a + kLength;
  const int j = threadIdx.x;  // a column: one thread per letter of b, and one before the first
  for (int diagonal = 0; diagonal <= 2 * kLength; ++diagonal) {
    const int i = diagonal - j;
    int *now = rows[diagonal % 3], *last = rows[(diagonal + 2) % 3], *older = rows[(diagonal + 1) % 3];
    if (i >= 0 && i <= kLength) {
      if (i == 0 || j == 0) {
        now[j] = i + j;
      } else {
        const int changed = older[j - 1] + (a[i - 1] != b[j - 1]);
        now[j] = min(changed, min(last[j], last[j - 1]) + 1);
      }
    }
    __syncthreads();
  }
  if (j == kLength) out[blockIdx.x] = rows[2 * kLength % 3][j];
}

int host_distance(const char* a, const char* b) {
  std::vector<int> row(kLength + 1), next(kLength + 1);
  for (int j = 0; j <= kLength; ++j) row[j] = j;
  for (int i = 1; i <= kLength; ++i) {
    next[0] = i;
    for (int j = 1; j <= kLength; ++j)
      next[j] = std::min(row[j - 1] + (a[i - 1] != b[j - 1]), std::min(row[j], next[j - 1]) + 1);
    row.swap(next);
  }
  return row[kLength];
}

int main() {
  Report report("edit_distance");
  constexpr int kPairs = 10;
  Random random(17);
  std::vector<char> words(2 * kPairs * kLength);
  for (char& letter : words) letter = static_cast<char>('a' + random.below(3));
  std::vector<int> want;
  for (int pair = 0; pair < kPairs; ++pair)
    want.push_back(host_distance(&words[2 * pair * kLength], &words[(2 * pair + 1) * kLength]));
  DeviceBuffer<char> input(words);
  DeviceBuffer<int> output(kPairs);
  distance<<<kPairs, kLength + 1>>>(input.get(), output.get());
  LAUNCHED_OK();
  report.equal("distances", output.download(), want);
  return report.finish();
}
