// nvcuda::wmma on half and bfloat16: the three shapes, row- and column-major operands and results, float and
// half accumulators, from global and from shared memory.
#include <cuda_bf16.h>
#include <mma.h>

#include "check.cuh"

using namespace nvcuda;

template <int M, int N, int K, typename T, typename LayoutA, typename LayoutB, typename Acc>
__global__ void multiply(const T* a, const T* b, Acc* d, wmma::layout_t layout, int depth, float bias) {
  constexpr bool a_by_rows = std::is_same<LayoutA, wmma::row_major>::value;
  constexpr bool b_by_rows = std::is_same<LayoutB, wmma::row_major>::value;
  __shared__ __align__(32) T staged[K * N];
  wmma::fragment<wmma::matrix_a, M, N, K, T, LayoutA> fragment_a;
  wmma::fragment<wmma::matrix_b, M, N, K, T, LayoutB> fragment_b;
  wmma::fragment<wmma::accumulator, M, N, K, Acc> sum;
  wmma::fill_fragment(sum, static_cast<Acc>(bias));
  for (int k0 = 0; k0 < depth; k0 += K) {
    for (int e = threadIdx.x; e < K * N; e += 32) {
      const int k = e / N, n = e % N;
      staged[b_by_rows ? k * N + n : n * K + k] = b[b_by_rows ? (k0 + k) * N + n : n * depth + k0 + k];
    }
    __syncwarp();
    wmma::load_matrix_sync(fragment_a, a + (a_by_rows ? k0 : k0 * M), a_by_rows ? depth : M);
    wmma::load_matrix_sync(fragment_b, staged, b_by_rows ? N : K);
    wmma::mma_sync(sum, fragment_a, fragment_b, sum);
    __syncwarp();  // before the next step overwrites staged
  }
  for (int e = 0; e < sum.num_elements; ++e) sum.x[e] = sum.x[e] * static_cast<Acc>(2.0f);
  wmma::store_matrix_sync(d, sum, layout == wmma::mem_row_major ? N : M, layout);
}

template <int M, int N, int K, typename T, typename LayoutA, typename LayoutB, typename Acc>
void run(Report& report, const char* what, wmma::layout_t layout) {
  constexpr bool a_by_rows = std::is_same<LayoutA, wmma::row_major>::value;
  constexpr bool b_by_rows = std::is_same<LayoutB, wmma::row_major>::value;
  constexpr int kDepth = 3 * K;
  Random random(M * 100 + N);
  std::vector<T> a(M * kDepth), b(kDepth * N);
  // Whole numbers this small keep every partial sum exact even in half.
  for (T& value : a) value = static_cast<T>(static_cast<float>(random.below(7) - 3));
  for (T& value : b) value = static_cast<T>(static_cast<float>(random.below(7) - 3));
  std::vector<float> want(M * N);
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) {
      float sum = 1;
      for (int k = 0; k < kDepth; ++k) {
        sum += static_cast<float>(a[a_by_rows ? m * kDepth + k : k * M + m]) *
               static_cast<float>(b[b_by_rows ? k * N + n : n * kDepth + k]);
      }
      want[layout == wmma::mem_row_major ? m * N + n : n * M + m] = 2 * sum;
    }
  }
  DeviceBuffer<T> a_input(a), b_input(b);
  DeviceBuffer<Acc> output(M * N);
  multiply<M, N, K, T, LayoutA, LayoutB, Acc>
      <<<1, 32>>>(a_input.get(), b_input.get(), output.get(), layout, kDepth, 1.0f);
  LAUNCHED_OK();
  std::vector<float> got;
  for (Acc value : output.download()) got.push_back(static_cast<float>(value));
  report.equal(what, got, want);
}

int main() {
  Report report("wmma_f16");
  using Row = wmma::row_major;
  using Column = wmma::col_major;
  run<16, 16, 16, __half, Row, Column, float>(report, "16x16_row_col_float", wmma::mem_row_major);
  run<16, 16, 16, __half, Row, Row, float>(report, "16x16_row_row_float", wmma::mem_col_major);
  run<16, 16, 16, __half, Column, Row, __half>(report, "16x16_col_row_half", wmma::mem_row_major);
  run<16, 16, 16, __half, Column, Column, __half>(report, "16x16_col_col_half", wmma::mem_col_major);
  run<32, 8, 16, __half, Row, Column, float>(report, "32x8_row_col_float", wmma::mem_row_major);
  run<32, 8, 16, __half, Column, Row, __half>(report, "32x8_col_row_half", wmma::mem_col_major);
  run<8, 32, 16, __half, Row, Row, float>(report, "8x32_row_row_float", wmma::mem_row_major);
  run<8, 32, 16, __half, Column, Column, __half>(report, "8x32_col_col_half", wmma::mem_row_major);
  run<16, 16, 16, __nv_bfloat16, Row, Column, float>(report, "16x16_bf16", wmma::mem_row_major);
  return report.finish();
}
