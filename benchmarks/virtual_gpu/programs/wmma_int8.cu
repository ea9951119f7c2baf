// nvcuda::wmma on signed and unsigned bytes: three shapes, accumulators loaded from memory, saturation.
#include <mma.h>

#include "check.cuh"

using namespace nvcuda;

template <int M, int N, typename T, bool kSaturate>
__global__ void multiply(const T* a, const T* b, const int* c, int* d) {
  wmma::fragment<wmma::matrix_a, M, N, 16, T, wmma::row_major> fragment_a;
  wmma::fragment<wmma::matrix_b, M, N, 16, T, wmma::col_major> fragment_b;
  wmma::fragment<wmma::accumulator, M, N, 16, int> sum;
  wmma::load_matrix_sync(fragment_a, a, 16);
  wmma::load_matrix_sync(fragment_b, b, 16);
  wmma::load_matrix_sync(sum, c, N, wmma::mem_row_major);
  wmma::mma_sync(sum, fragment_a, fragment_b, sum, kSaturate);
  wmma::store_matrix_sync(d, sum, N, wmma::mem_row_major);
}

template <int M, int N, typename T, bool kSaturate>
void run(Report& report, const char* what) {
  Random random(M + N * 3);
  std::vector<T> a(M * 16), b(16 * N);
  std::vector<int> c(M * N), want(M * N);
  for (T& value : a) value = static_cast<T>(random.next32());
  for (T& value : b) value = static_cast<T>(random.next32());
  for (int i = 0; i < M * N; ++i)
    c[i] = i % 5 == 0 ? INT32_MAX - 10 : i % 7 == 0 ? INT32_MIN + 10 : random.below(9999);
  for (int i = 0; i < M * N; ++i) {
    int64_t sum = c[i];
    for (int k = 0; k < 16; ++k) sum += static_cast<int64_t>(a[i / N * 16 + k]) * b[i % N * 16 + k];
    if (kSaturate) sum = sum > INT32_MAX ? int64_t{INT32_MAX} : sum < INT32_MIN ? int64_t{INT32_MIN} : sum;
    want[i] = static_cast<int>(static_cast<uint32_t>(sum));
  }
  DeviceBuffer<T> a_input(a), b_input(b);
  DeviceBuffer<int> c_input(c), output(M * N);
  multiply<M, N, T, kSaturate><<<1, 32>>>(a_input.get(), b_input.get(), c_input.get(), output.get());
  LAUNCHED_OK();
  report.equal(what, output.download(), want);
}

int main() {
  Report report("wmma_int8");
  run<16, 16, signed char, false>(report, "16x16_s8");
  run<16, 16, unsigned char, false>(report, "16x16_u8");
  run<32, 8, signed char, false>(report, "32x8_s8");
  run<8, 32, unsigned char, false>(report, "8x32_u8");
  run<16, 16, signed char, true>(report, "16x16_s8_saturating");
  return report.finish();
}
