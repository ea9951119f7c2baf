// Run-length encoding with a scan of the places where a run begins.
#include "../programs/check.cuh"

constexpr int kCount = 256;

__global__ void encode(const char* in, char* letters, int* lengths, int* runs) {
  __shared__ int place[kCount], begin[kCount + 1];
  const int i = threadIdx.x;
  const int starts = i == 0 || in[i] != in[i - 1];
  place[i] = starts;
  __syncthreads();
  for (int step = 1; step < kCount; step *= 2) {
    const int other = i >= step ? place[i - step] : 0;
    __syncthreads();
    place[i] += other;
    __syncthreads();
  }
  const int total = place[kCount - 1];
  if (starts) begin[place[i] - 1] = i;
  if (i == 0) begin[total] = kCount;
  __syncthreads();
  if (i < total) {
    letters[i] = in[begin[i]];
    lengths[i] = begin[i + 1] - begin[i];
  }
  if (i == 0) *runs = total;
}

int main() {
  Report report("run_lengths");
  Random random(20);
  std::vector<char> text;
  while (text.size() < kCount)
    text.insert(text.end(), 1 + random.below(9), static_cast<char>('a' + random.below(4)));
  text.resize(kCount);
  DeviceBuffer<char> input(text), letters(kCount);
  DeviceBuffer<int> lengths(kCount), runs(1);
  letters.fill_bytes(0);
  lengths.fill_bytes(0);
  encode<<<1, kCount>>>(input.get(), letters.get(), lengths.get(), runs.get());
  LAUNCHED_OK();
  std::vector<char> want_letters(kCount);
  std::vector<int> want_lengths(kCount);
  int count = 0;
  for (int i = 0; i < kCount; ++i) {
    if (i == 0 || text[i] != text[i - 1]) want_letters[count++] = text[i];
    want_lengths[count - 1] += 1;
  }
  report.equal("letters", letters.download(), want_letters);
  report.equal("lengths", lengths.download(), want_lengths);
  report.equal("runs", runs.download(), {count});
  return report.finish();
}
