// Epilogues of cublasLtMatmul against plain loops: bias, ReLU, GELU, what is kept for the way back, and its
// slope there.
#include <cublasLt.h>

#include <cmath>

#include "matrix_host.cuh"

constexpr int kM = 6, kN = 5, kK = 3;

float value(int i) {
  return static_cast<float>(i * 7 % 11 - 5) / 4;
}

float* uploaded(const std::vector<float>& values) {
  float* memory = nullptr;
  OK(cudaMalloc(&memory, values.size() * sizeof(float)));
  OK(cudaMemcpy(memory, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice));
  return memory;
}

std::vector<float> downloaded(const float* memory, size_t count) {
  std::vector<float> values(count);
  OK(cudaMemcpy(values.data(), memory, count * sizeof(float), cudaMemcpyDeviceToHost));
  return values;
}

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

double gelu_slope(double x) {
  constexpr double kStep = 1e-5;
  return (gelu(x + kStep) - gelu(x - kStep)) / (2 * kStep);
}

bool is_near(double a, double b) {
  return std::abs(a - b) < 1e-4;
}

struct Memory {
  std::vector<float> a, b, bias, kept;
  float *da, *db, *dbias, *daux, *dd;
};

void check(cublasLtHandle_t handle, const Memory& memory, cublasLtEpilogue_t epilogue, bool has_bias,
           double (*function)(double), bool keeps, bool is_slope) {
  cublasLtMatmulDesc_t desc = nullptr;
  FINE(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  const int64_t aux_ld = kM;
  FINE(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
  if (has_bias)
    FINE(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &memory.dbias,
                                        sizeof memory.dbias));
  if (keeps || is_slope) {
    FINE(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &memory.daux,
                                        sizeof memory.daux));
    FINE(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &aux_ld, sizeof aux_ld));
  }
  cublasLtMatrixLayout_t of_a = nullptr, of_b = nullptr, of_d = nullptr;
  FINE(cublasLtMatrixLayoutCreate(&of_a, CUDA_R_32F, kM, kK, kM));
  FINE(cublasLtMatrixLayoutCreate(&of_b, CUDA_R_32F, kK, kN, kK));
  FINE(cublasLtMatrixLayoutCreate(&of_d, CUDA_R_32F, kM, kN, kM));
  const float alpha = 1, beta = 0;
  FINE(cublasLtMatmul(handle, desc, &alpha, memory.da, of_a, memory.db, of_b, &beta, memory.dd, of_d,
                      memory.dd, of_d, nullptr, nullptr, 0, nullptr));
  const auto got = downloaded(memory.dd, kM * kN);
  const auto kept = keeps ? downloaded(memory.daux, kM * kN) : std::vector<float>();
  for (int j = 0; j < kN; ++j)
    for (int i = 0; i < kM; ++i) {
      double sum = has_bias ? memory.bias[i] : 0;
      for (int p = 0; p < kK; ++p) sum += memory.a[p * kM + i] * memory.b[j * kK + p];
      const int at = j * kM + i;
      if (keeps) HOLDS(is_near(kept[at], sum));
      HOLDS(is_near(got[at], is_slope ? sum * gelu_slope(memory.kept[at]) : function(sum)));
    }
  for (const cublasLtMatrixLayout_t one : {of_a, of_b, of_d}) FINE(cublasLtMatrixLayoutDestroy(one));
  FINE(cublasLtMatmulDescDestroy(desc));
}

int main() {
  cublasLtHandle_t handle = nullptr;
  FINE(cublasLtCreate(&handle));
  Memory memory;
  for (int i = 0; i < kM * kK; ++i) memory.a.push_back(value(i));
  for (int i = 0; i < kK * kN; ++i) memory.b.push_back(value(i + 3));
  for (int i = 0; i < kM; ++i) memory.bias.push_back(value(i + 5));
  for (int i = 0; i < kM * kN; ++i) memory.kept.push_back(value(i + 1));
  memory.da = uploaded(memory.a);
  memory.db = uploaded(memory.b);
  memory.dbias = uploaded(memory.bias);
  memory.daux = uploaded(memory.kept);
  OK(cudaMalloc(&memory.dd, kM * kN * sizeof(float)));
  const auto same = [](double x) { return x; };
  const auto relu = [](double x) { return x > 0 ? x : 0; };
  check(handle, memory, CUBLASLT_EPILOGUE_DGELU, false, nullptr, false, true);
  check(handle, memory, CUBLASLT_EPILOGUE_BIAS, true, same, false, false);
  check(handle, memory, CUBLASLT_EPILOGUE_RELU, false, relu, false, false);
  check(handle, memory, CUBLASLT_EPILOGUE_RELU_BIAS, true, relu, false, false);
  check(handle, memory, CUBLASLT_EPILOGUE_GELU, false, gelu, false, false);
  check(handle, memory, CUBLASLT_EPILOGUE_GELU_BIAS, true, gelu, false, false);
  check(handle, memory, CUBLASLT_EPILOGUE_GELU_AUX, false, gelu, true, false);
  check(handle, memory, CUBLASLT_EPILOGUE_GELU_AUX_BIAS, true, gelu, true, false);
  for (float* one : {memory.da, memory.db, memory.dbias, memory.daux, memory.dd}) OK(cudaFree(one));
  FINE(cublasLtDestroy(handle));
  return finish();
}
