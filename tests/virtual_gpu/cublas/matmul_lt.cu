// cublasLtMatmul against plain loops: transposed operands, batches, another C than D, a heuristic.
#include <cublasLt.h>

#include "matrix_host.cuh"

struct Sizes {
  int m, n, k, batches;
};

float value(int i) {
  return static_cast<float>(i * 7 % 11 - 5);
}

std::vector<float> filled(size_t count, int first) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = value(first + static_cast<int>(i));
  return values;
}

float* uploaded(const std::vector<float>& values) {
  float* memory = nullptr;
  OK(cudaMalloc(&memory, values.size() * sizeof(float)));
  OK(cudaMemcpy(memory, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice));
  return memory;
}

cublasLtMatrixLayout_t layout(int rows, int cols, int batches) {
  cublasLtMatrixLayout_t made = nullptr;
  const int64_t stride = int64_t{rows} * cols;
  FINE(cublasLtMatrixLayoutCreate(&made, CUDA_R_32F, rows, cols, rows));
  FINE(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batches, sizeof batches));
  FINE(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                        sizeof stride));
  return made;
}

void product(cublasLtHandle_t handle, const Sizes& s, bool transposed, float beta, bool in_place) {
  const size_t batches = static_cast<size_t>(s.batches);
  const auto a = filled(batches * s.m * s.k, 1), b = filled(batches * s.k * s.n, 2);
  const auto c = filled(batches * s.m * s.n, 3);
  float *da = uploaded(a), *db = uploaded(b), *dc = uploaded(c), *dd = in_place ? dc : uploaded(c);
  cublasLtMatmulDesc_t desc = nullptr;
  const cublasOperation_t op = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  FINE(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  FINE(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &op, sizeof op));
  const cublasLtMatrixLayout_t of_a = transposed ? layout(s.k, s.m, s.batches) : layout(s.m, s.k, s.batches);
  const cublasLtMatrixLayout_t of_b = layout(s.k, s.n, s.batches), of_d = layout(s.m, s.n, s.batches);
  cublasLtMatmulPreference_t preference = nullptr;
  const size_t room = 0;
  FINE(cublasLtMatmulPreferenceCreate(&preference));
  FINE(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room,
                                            sizeof room));
  cublasLtMatmulHeuristicResult_t way{};
  int found = 0;
  FINE(cublasLtMatmulAlgoGetHeuristic(handle, desc, of_a, of_b, of_d, of_d, preference, 1, &way, &found));
  HOLDS(found == 1);
  const float alpha = 2;
  FINE(cublasLtMatmul(handle, desc, &alpha, da, of_a, db, of_b, &beta, dc, of_d, dd, of_d, &way.algo, nullptr,
                      0, nullptr));
  std::vector<float> got(c.size());
  OK(cudaMemcpy(got.data(), dd, got.size() * sizeof(float), cudaMemcpyDeviceToHost));
  for (int batch = 0; batch < s.batches; ++batch)
    for (int j = 0; j < s.n; ++j)
      for (int i = 0; i < s.m; ++i) {
        const size_t at = (static_cast<size_t>(batch) * s.n + j) * s.m + i;
        float sum = 0;
        for (int p = 0; p < s.k; ++p) {
          const size_t left = transposed ? (static_cast<size_t>(batch) * s.m + i) * s.k + p
                                         : (static_cast<size_t>(batch) * s.k + p) * s.m + i;
          sum += a[left] * b[(static_cast<size_t>(batch) * s.n + j) * s.k + p];
        }
        HOLDS(got[at] == alpha * sum + beta * c[at]);
      }
  FINE(cublasLtMatmulPreferenceDestroy(preference));
  for (const cublasLtMatrixLayout_t one : {of_a, of_b, of_d}) FINE(cublasLtMatrixLayoutDestroy(one));
  FINE(cublasLtMatmulDescDestroy(desc));
  for (float* memory : {da, db, dc}) OK(cudaFree(memory));
  if (!in_place) OK(cudaFree(dd));
}

int main() {
  cublasLtHandle_t handle = nullptr;
  FINE(cublasLtCreate(&handle));
  product(handle, {5, 7, 3, 1}, false, 0, true);
  product(handle, {5, 7, 3, 1}, true, 3, true);
  product(handle, {4, 6, 9, 3}, true, 0.5f, false);
  product(handle, {1, 1, 20, 2}, false, 1, false);
  FINE(cublasLtDestroy(handle));
  return finish();
}
