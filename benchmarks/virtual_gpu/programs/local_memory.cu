// Arrays in local memory with indices known only at run time, and a stack frame per recursive call.
#include "check.cuh"

constexpr int kCount = 128, kLength = 24;

__global__ void sort_each(const int* in, int* out, uint8_t* histogram_out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int mine[kLength];
  uint8_t histogram[16] = {};
  for (int k = 0; k < kLength; ++k) mine[k] = in[k * kCount + i];
  for (int k = 0; k < kLength; ++k) ++histogram[mine[k] & 15];
  // Insertion sort: the lanes of a warp move different distances.
  for (int k = 1; k < kLength; ++k) {
    const int value = mine[k];
    int at = k;
    while (at > 0 && mine[at - 1] > value) {
      mine[at] = mine[at - 1];
      --at;
    }
    mine[at] = value;
  }
  for (int k = 0; k < kLength; ++k) out[k * kCount + i] = mine[k];
  for (int k = 0; k < 16; ++k) histogram_out[k * kCount + i] = histogram[k];
}

// Not a tail call and with an array per frame, so the compiler must keep real frames.
__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

__device__ __noinline__ int digits_reversed(unsigned value, int depth) {
  int frame[4] = {depth, static_cast<int>(value % 10), depth * 3, 1};
  if (value < 10) return frame[depth & 1];
  const int rest = digits_reversed(value / 10, depth + 1);
  return rest * 10 + frame[depth & 3];
}

__global__ void recurse(unsigned* deep, int* digits) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  deep[i] = ackermann(i % 3, i % 5);
  digits[i] = digits_reversed(i * 7919u, 0);
}

unsigned ackermann_closed(unsigned m, unsigned n) {
  return m == 0 ? n + 1 : m == 1 ? n + 2 : 2 * n + 3;
}

int digits_iterative(unsigned value) {
  std::vector<unsigned> parts;
  for (; value >= 10; value /= 10) parts.push_back(value);
  int depth = static_cast<int>(parts.size());
  int result = (depth & 1) != 0 ? static_cast<int>(value % 10) : depth;
  while (--depth >= 0) {
    const int frame[4] = {depth, static_cast<int>(parts[depth] % 10), depth * 3, 1};
    result = result * 10 + frame[depth & 3];
  }
  return result;
}

int main() {
  Report report("local_memory");
  Random random(5);
  std::vector<int> in(kCount * kLength), want(in.size());
  std::vector<uint8_t> want_histogram(16 * kCount, 0);
  for (int& value : in) value = random.below(2000) - 1000;
  for (int i = 0; i < kCount; ++i) {
    std::vector<int> mine;
    for (int k = 0; k < kLength; ++k) {
      mine.push_back(in[k * kCount + i]);
      ++want_histogram[(mine.back() & 15) * kCount + i];
    }
    for (int k = 0; k < kLength; ++k) {  // selection sort, another method than the kernel's
      for (int j = k + 1; j < kLength; ++j) {
        if (mine[j] < mine[k]) std::swap(mine[j], mine[k]);
      }
      want[k * kCount + i] = mine[k];
    }
  }
  DeviceBuffer<int> input(in), sorted(in.size()), digits(kCount);
  DeviceBuffer<uint8_t> histogram(16 * kCount);
  DeviceBuffer<unsigned> deep(kCount);
  sort_each<<<2, kCount / 2>>>(input.get(), sorted.get(), histogram.get());
  LAUNCHED_OK();
  recurse<<<2, kCount / 2>>>(deep.get(), digits.get());
  LAUNCHED_OK();
  report.equal("sorted", sorted.download(), want);
  report.equal("histogram", histogram.download(), want_histogram);
  std::vector<unsigned> want_deep(kCount);
  std::vector<int> want_digits(kCount);
  for (unsigned i = 0; i < kCount; ++i) {
    want_deep[i] = ackermann_closed(i % 3, i % 5);
    want_digits[i] = digits_iterative(i * 7919u);
  }
  report.equal("ackermann", deep.download(), want_deep);
  report.equal("digits", digits.download(), want_digits);
  return report.finish();
}
