// Arrays of several types in one piece of dynamic shared memory, each at its alignment.
#include "../programs/check.cuh"

__global__ void parts(int n, double* doubles, int* ints, unsigned char* bytes) {
  extern __shared__ double room[];
  double* const a = room;
  int* const b = reinterpret_cast<int*>(a + n);
  auto* const c = reinterpret_cast<unsigned char*>(b + n);
  const int i = threadIdx.x;
  a[i] = i * 0.5;
  b[i] = i * i;
  c[i] = static_cast<unsigned char>(255 - i);
  __syncthreads();
  const int j = n - 1 - i;
  doubles[i] = a[j];
  ints[i] = b[j];
  bytes[i] = c[j];
}

int main() {
  Report report("dynamic_shared_parts");
  constexpr int kCount = 77;
  DeviceBuffer<double> doubles(kCount);
  DeviceBuffer<int> ints(kCount);
  DeviceBuffer<unsigned char> bytes(kCount);
  parts<<<1, kCount, kCount * (sizeof(double) + sizeof(int) + 1)>>>(kCount, doubles.get(), ints.get(),
                                                                    bytes.get());
  LAUNCHED_OK();
  std::vector<double> want_doubles(kCount);
  std::vector<int> want_ints(kCount);
  std::vector<unsigned char> want_bytes(kCount);
  for (int i = 0; i < kCount; ++i) {
    const int j = kCount - 1 - i;
    want_doubles[i] = j * 0.5;
    want_ints[i] = j * j;
    want_bytes[i] = static_cast<unsigned char>(255 - j);
  }
  report.equal("doubles", doubles.download(), want_doubles);
  report.equal("ints", ints.download(), want_ints);
  report.equal("bytes", bytes.download(), want_bytes);
  return report.finish();
}
