// Every form of GEMM, in every type, gives what three loops give.
#include "matrix_host.cuh"

template <class T, class Out, class Scale>
struct Problem {
  cublasOperation_t op_a, op_b;
  int m = 19, n = 11, k = 23;
  Matrix<T> a, b;
  Matrix<Out> c;
  Scale alpha = narrow<Scale>({2, 0}), beta = narrow<Scale>({1, 0});
  Problem(cublasOperation_t op_a, cublasOperation_t op_b, int padding = 2)
      : op_a(op_a),
        op_b(op_b),
        a(op_a == CUBLAS_OP_N ? m : k, op_a == CUBLAS_OP_N ? k : m, 1, padding),
        b(op_b == CUBLAS_OP_N ? k : n, op_b == CUBLAS_OP_N ? n : k, 2, padding),
        c(m, n, 3) {}
  int wrong() const {
    return c.wrong([&](int i, int j) {
      Wide sum = 0;
      for (int p = 0; p < k; ++p) sum += a.at(i, p, op_a) * b.at(p, j, op_b);
      return wide(alpha) * sum + wide(beta) * c.at(i, j);
    });
  }
};

constexpr cublasOperation_t kOperations[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};

template <class T, class Function>
void every_operation(cublasHandle_t handle, Function gemm) {
  for (const auto op_a : kOperations)
    for (const auto op_b : kOperations) {
      Problem<T, T, T> p(op_a, op_b);
      FINE(gemm(handle, op_a, op_b, p.m, p.n, p.k, &p.alpha, p.a.device, p.a.ld, p.b.device, p.b.ld, &p.beta,
                p.c.device, p.c.ld));
      HOLDS(p.wrong() == 0);
    }
}

template <class T, class Out, class Scale>
void mixed(cublasHandle_t handle, cudaDataType in, cudaDataType out, cublasComputeType_t compute,
           int padding = 2) {
  Problem<T, Out, Scale> p(CUBLAS_OP_T, CUBLAS_OP_N, padding);
  FINE(cublasGemmEx(handle, p.op_a, p.op_b, p.m, p.n, p.k, &p.alpha, p.a.device, in, p.a.ld, p.b.device, in,
                    p.b.ld, &p.beta, p.c.device, out, p.c.ld, compute, CUBLAS_GEMM_DEFAULT));
  HOLDS(p.wrong() == 0);
}

// Columns of bytes must begin at multiples of four.
void bytes_off_their_words(cublasHandle_t handle) {
  const int one = 1;
  Problem<signed char, int, int> p(CUBLAS_OP_T, CUBLAS_OP_N, 1);
  const auto product = [&](const signed char* a, int lda) {
    return cublasGemmEx(handle, p.op_a, p.op_b, p.m - 1, p.n, p.k - 1, &one, a, CUDA_R_8I, lda, p.b.device,
                        CUDA_R_8I, p.b.ld, &one, p.c.device, CUDA_R_32I, p.c.ld, CUBLAS_COMPUTE_32I,
                        CUBLAS_GEMM_DEFAULT);
  };
  HOLDS(product(p.a.device, p.a.ld - 1) == CUBLAS_STATUS_NOT_SUPPORTED);
  HOLDS(product(p.a.device + 1, p.a.ld) == CUBLAS_STATUS_NOT_SUPPORTED);
}

void batches(cublasHandle_t handle) {
  const int count = 3, m = 5, n = 4, k = 6;
  Matrix<float> a(m, k * count, 1, 0), b(k, n * count, 2, 0), c(m, n * count, 3, 0);
  const float alpha = 1, beta = 0;
  const auto want = [&](int i, int column) {
    const int batch = column / n, j = column % n;
    Wide sum = 0;
    for (int p = 0; p < k; ++p) sum += a.at(i, batch * k + p) * b.at(p, batch * n + j);
    return sum;
  };
  FINE(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, a.device, m, m * k,
                                 b.device, k, k * n, &beta, c.device, m, m * n, count));
  HOLDS(c.wrong(want) == 0);
  cudaMemset(c.device, 0, sizeof(float) * m * n * count);
  float* pointers[3][count];
  for (int i = 0; i < count; ++i) {
    pointers[0][i] = a.device + i * m * k;
    pointers[1][i] = b.device + i * k * n;
    pointers[2][i] = c.device + i * m * n;
  }
  float** on_device;
  cudaMalloc(&on_device, sizeof pointers);
  cudaMemcpy(on_device, pointers, sizeof pointers, cudaMemcpyHostToDevice);
  FINE(cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, on_device, m, on_device + count,
                          k, &beta, on_device + 2 * count, m, count));
  HOLDS(c.wrong(want) == 0);
  cudaFree(on_device);
}

// Factors that lie on the device are read when the call's turn comes.
void scalars_on_the_device(cublasHandle_t handle) {
  Problem<float, float, float> p(CUBLAS_OP_N, CUBLAS_OP_N);
  float* scalars;
  cudaMalloc(&scalars, 2 * sizeof(float));
  cudaMemcpy(scalars, &p.alpha, sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(scalars + 1, &p.beta, sizeof(float), cudaMemcpyHostToDevice);
  FINE(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
  FINE(cublasSgemm(handle, p.op_a, p.op_b, p.m, p.n, p.k, scalars, p.a.device, p.a.ld, p.b.device, p.b.ld,
                   scalars + 1, p.c.device, p.c.ld));
  FINE(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
  HOLDS(p.wrong() == 0);
  cudaFree(scalars);
}

// A captured call is part of the graph, and runs with it.
void in_a_graph(cublasHandle_t handle) {
  Problem<float, float, float> p(CUBLAS_OP_N, CUBLAS_OP_T);
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  OK(cudaStreamCreate(&stream));
  FINE(cublasSetStream(handle, stream));
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  FINE(cublasSgemm(handle, p.op_a, p.op_b, p.m, p.n, p.k, &p.alpha, p.a.device, p.a.ld, p.b.device, p.b.ld,
                   &p.beta, p.c.device, p.c.ld));
  OK(cudaStreamEndCapture(stream, &graph));
  OK(cudaGraphInstantiate(&executable, graph, 0));
  HOLDS(p.c.wrong([&](int i, int j) { return p.c.at(i, j); }) == 0);
  OK(cudaGraphLaunch(executable, stream));
  OK(cudaStreamSynchronize(stream));
  HOLDS(p.wrong() == 0);
  FINE(cublasSetStream(handle, nullptr));
  OK(cudaGraphExecDestroy(executable));
  OK(cudaGraphDestroy(graph));
  OK(cudaStreamDestroy(stream));
}

void wrong_arguments(cublasHandle_t handle) {
  Problem<float, float, float> p(CUBLAS_OP_N, CUBLAS_OP_N);
  HOLDS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, p.m, p.n, p.k, &p.alpha, p.a.device, p.m - 1,
                    p.b.device, p.k, &p.beta, p.c.device, p.m) == CUBLAS_STATUS_INVALID_VALUE);
  HOLDS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, -1, p.n, p.k, &p.alpha, p.a.device, p.m, p.b.device,
                    p.k, &p.beta, p.c.device, p.m) == CUBLAS_STATUS_INVALID_VALUE);
  HOLDS(cublasSgemm(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, p.m, p.n, p.k, &p.alpha, p.a.device, p.m, p.b.device,
                    p.k, &p.beta, p.c.device, p.m) == CUBLAS_STATUS_NOT_INITIALIZED);
  HOLDS(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, p.m, p.n, p.k, &p.alpha, p.a.device, CUDA_R_32F, p.m,
                     p.b.device, CUDA_R_64F, p.k, &p.beta, p.c.device, CUDA_R_32F, p.m, CUBLAS_COMPUTE_32F,
                     CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_NOT_SUPPORTED);
  HOLDS(!std::strcmp(cublasGetStatusName(CUBLAS_STATUS_INVALID_VALUE), "CUBLAS_STATUS_INVALID_VALUE"));
}

int main() {
  cublasHandle_t handle;
  FINE(cublasCreate(&handle));
  every_operation<float>(handle, [](auto... of) { return cublasSgemm(of...); });
  every_operation<double>(handle, [](auto... of) { return cublasDgemm(of...); });
  every_operation<cuComplex>(handle, [](auto... of) { return cublasCgemm(of...); });
  every_operation<cuDoubleComplex>(handle, [](auto... of) { return cublasZgemm_64(of...); });
  every_operation<__half>(handle, [](auto... of) { return cublasHgemm(of...); });
  mixed<__half, __half, float>(handle, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F);
  mixed<__half, float, float>(handle, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F);
  mixed<__nv_bfloat16, __nv_bfloat16, float>(handle, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F);
  mixed<__nv_bfloat16, float, float>(handle, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_16BF);
  mixed<signed char, int, int>(handle, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, 1);
  bytes_off_their_words(handle);
  mixed<signed char, float, float>(handle, CUDA_R_8I, CUDA_R_32F, CUBLAS_COMPUTE_32F);
  batches(handle);
  scalars_on_the_device(handle);
  in_a_graph(handle);
  wrong_arguments(handle);
  FINE(cublasDestroy(handle));
  return finish();
}
