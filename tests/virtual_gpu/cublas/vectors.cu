// Vectors, with increments of either sign, and matrices times vectors.
#include "matrix_host.cuh"

// Element i of n with an increment, counted as BLAS does.
Wide element(const Matrix<float>& x, int n, int increment, int i) {
  return x.at(increment > 0 ? i * increment : (i - n + 1) * increment, 0);
}

void with_increments(cublasHandle_t handle) {
  const int n = 9;
  for (const int incx : {1, 2, -2})
    for (const int incy : {1, -1, 3}) {
      Matrix<float> x(n * 2, 1, 1), y(n * 3, 1, 2), copy(n * 3, 1, 3);
      const float alpha = 3;
      const auto from_y = [&](int i, auto value) {
        const int place = incy > 0 ? i / incy : n - 1 - i;
        return i % incy == 0 && place >= 0 && place < n ? value(place) : Wide();
      };
      FINE(cublasScopy(handle, n, x.device, incx, copy.device, incy));
      HOLDS(copy.wrong([&](int i, int) {
        const bool hit = i % incy == 0 && i / std::abs(incy) < n;
        return hit ? from_y(i, [&](int p) { return element(x, n, incx, p); }) : copy.at(i, 0);
      }) == 0);
      FINE(cublasSaxpy(handle, n, &alpha, x.device, incx, y.device, incy));
      HOLDS(y.wrong([&](int i, int) {
        const bool hit = i % incy == 0 && i / std::abs(incy) < n;
        return hit ? y.at(i, 0) + from_y(i, [&](int p) { return 3.0 * element(x, n, incx, p); }) : y.at(i, 0);
      }) == 0);
    }
}

// An increment of 0 gives one element again and again.
void one_to_all(cublasHandle_t handle) {
  Matrix<float> x(1, 1, 1), y(5, 1, 2);
  FINE(cublasScopy(handle, 5, x.device, 0, y.device, 1));
  HOLDS(y.wrong([&](int, int) { return x.at(0, 0); }) == 0);
}

void reductions(cublasHandle_t handle) {
  const float values[] = {3, -4, 0, 12, -12, 1};
  const cuComplex complex[] = {{1, 2}, {-3, 4}, {0, -1}};
  float* x;
  cuComplex* z;
  cudaMalloc(&x, sizeof values);
  cudaMalloc(&z, sizeof complex);
  FINE(cublasSetVector(6, sizeof(float), values, 1, x, 1));
  FINE(cublasSetVector(3, sizeof(cuComplex), complex, 1, z, 1));
  float result = 0;
  int index = 0;
  int64_t long_index = 0;
  FINE(cublasSnrm2(handle, 2, x, 1, &result));
  HOLDS(result == 5);
  FINE(cublasSasum(handle, 6, x, 1, &result));
  HOLDS(result == 32);
  FINE(cublasSdot(handle, 3, x, 1, x, 2, &result));
  HOLDS(result == 9);
  FINE(cublasIsamax(handle, 6, x, 1, &index));
  HOLDS(index == 4);
  FINE(cublasIsamin_64(handle, 6, x, 1, &long_index));
  HOLDS(long_index == 3);
  FINE(cublasIsamax(handle, 0, x, 1, &index));
  HOLDS(index == 0);
  FINE(cublasScasum(handle, 3, z, 1, &result));
  HOLDS(result == 11);
  cuComplex sum;
  FINE(cublasCdotu(handle, 2, z, 1, z, 1, &sum));
  HOLDS(sum.x == -10 && sum.y == -20);
  FINE(cublasCdotc(handle, 2, z, 1, z, 1, &sum));
  HOLDS(sum.x == 30 && sum.y == 0);
  const double far[] = {3e200, 4e200, 3e-200, 4e-200};
  double *wide, length = 0;
  cudaMalloc(&wide, sizeof far);
  FINE(cublasSetVector(4, sizeof(double), far, 1, wide, 1));
  FINE(cublasDnrm2(handle, 2, wide, 1, &length));
  HOLDS(std::abs(length / 5e200 - 1) < 1e-15);
  FINE(cublasDnrm2(handle, 2, wide + 2, 1, &length));
  HOLDS(std::abs(length / 5e-200 - 1) < 1e-15);
  cudaFree(wide);
  float* on_device;
  cudaMalloc(&on_device, sizeof(float));
  FINE(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
  FINE(cublasSnrm2(handle, 2, x, 1, on_device));
  FINE(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
  cudaMemcpy(&result, on_device, sizeof result, cudaMemcpyDeviceToHost);
  HOLDS(result == 5);
  FINE(cublasDotEx(handle, 6, x, CUDA_R_32F, 1, x, CUDA_R_32F, 1, &result, CUDA_R_32F, CUDA_R_32F));
  HOLDS(result == 314);
  cudaFree(on_device);
  cudaFree(x);
  cudaFree(z);
}

void in_place(cublasHandle_t handle) {
  Matrix<float> x(6, 1, 1, 0), y(6, 1, 2, 0);
  const float factor = 4, c = 0.6f, s = 0.8f;
  FINE(cublasSswap(handle, 6, x.device, 1, y.device, 1));
  HOLDS(x.wrong([&](int i, int) { return y.at(i, 0); }) == 0);
  FINE(cublasSscal(handle, 3, &factor, x.device, 2));
  HOLDS(x.wrong([&](int i, int) { return (i % 2 == 0 ? 4.0 : 1.0) * y.at(i, 0); }) == 0);
  Matrix<float> p(4, 1, 3, 0), q(4, 1, 4, 0);
  FINE(cublasSrot(handle, 4, p.device, 1, q.device, 1, &c, &s));
  HOLDS(p.wrong([&](int i, int) { return 0.6 * p.at(i, 0) + 0.8 * q.at(i, 0); }, 1e-6) == 0);
  HOLDS(q.wrong([&](int i, int) { return 0.6 * q.at(i, 0) - 0.8 * p.at(i, 0); }, 1e-6) == 0);
}

void matrix_times_vector(cublasHandle_t handle) {
  const int m = 7, n = 5;
  Matrix<float> a(m, n, 1), x(n, 1, 2), y(m, 1, 3), t(n, 1, 4), rank_one(m, n, 5);
  const float two = 2, one = 1;
  FINE(cublasSgemv(handle, CUBLAS_OP_N, m, n, &two, a.device, a.ld, x.device, 1, &one, y.device, 1));
  const auto first = [&](int i, int) {
    Wide sum = 0;
    for (int p = 0; p < n; ++p) sum += a.at(i, p) * x.at(p, 0);
    return 2.0 * sum + y.at(i, 0);
  };
  HOLDS(y.wrong(first) == 0);
  FINE(cublasSgemv(handle, CUBLAS_OP_T, m, n, &one, a.device, a.ld, y.device, 1, &one, t.device, 1));
  HOLDS(t.wrong([&](int j, int) {
    Wide sum = 0;
    for (int p = 0; p < m; ++p) sum += a.at(p, j) * first(p, 0);
    return sum + t.at(j, 0);
  }) == 0);
  FINE(cublasSger(handle, m, n, &two, a.device, 1, x.device, 1, rank_one.device, rank_one.ld));
  HOLDS(rank_one.wrong([&](int i, int j) { return rank_one.at(i, j) + 2.0 * a.at(i, 0) * x.at(j, 0); }) == 0);
}

int main() {
  cublasHandle_t handle;
  FINE(cublasCreate(&handle));
  with_increments(handle);
  one_to_all(handle);
  reductions(handle);
  in_place(handle);
  matrix_times_vector(handle);
  FINE(cublasDestroy(handle));
  return finish();
}
