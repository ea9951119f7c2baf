// Characters of UTF-8 text by their length in bytes, counted with votes and shared atomics.
#include "../programs/check.cuh"

__global__ void count(const unsigned char* text, int bytes, int* totals) {
  __shared__ int counts[4];
  if (threadIdx.x < 4) counts[threadIdx.x] = 0;
  __syncthreads();
  for (int first = blockIdx.x * blockDim.x; first < bytes; first += gridDim.x * blockDim.x) {
    const int i = first + threadIdx.x;
    const unsigned byte = i < bytes ? text[i] : 0x80;
    const int kind = byte < 0x80 ? 0 : byte < 0xc0 ? -1 : byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
    for (int k = 0; k < 4; ++k) {
      const unsigned same = __ballot_sync(~0u, kind == k);
      if (threadIdx.x % 32 == 0) atomicAdd(&counts[k], __popc(same));
    }
  }
  __syncthreads();
  if (threadIdx.x < 4) atomicAdd(&totals[threadIdx.x], counts[threadIdx.x]);
}

int main() {
  Report report("character_counts");
  const char* const letters[4] = {"k", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
  Random random(53);
  std::vector<unsigned char> text;
  std::vector<int> want(4);
  for (int i = 0; i < 900; ++i) {
    const int kind = random.below(4);
    for (const char* c = letters[kind]; *c != 0; ++c) text.push_back(static_cast<unsigned char>(*c));
    want[kind] += 1;
  }
  DeviceBuffer<unsigned char> input(text);
  DeviceBuffer<int> totals(4);
  totals.fill_bytes(0);
  count<<<3, 128>>>(input.get(), static_cast<int>(text.size()), totals.get());
  LAUNCHED_OK();
  report.equal("counts", totals.download(), want);
  return report.finish();
}
