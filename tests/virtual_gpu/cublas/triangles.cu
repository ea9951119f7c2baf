// Symmetric and triangular matrices, sums and diagonals: what plain loops give, and nothing beside it
// touched.
#include "matrix_host.cuh"

constexpr cublasOperation_t kOperations[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
constexpr cublasFillMode_t kFills[] = {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER};
constexpr cublasSideMode_t kSides[] = {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT};
constexpr cublasDiagType_t kDiagonals[] = {CUBLAS_DIAG_NON_UNIT, CUBLAS_DIAG_UNIT};
using T = cuDoubleComplex;
const T kTwo = make_cuDoubleComplex(2, 0), kOne = make_cuDoubleComplex(1, 0);

bool is_stored(cublasFillMode_t fill, int i, int j) {
  return fill == CUBLAS_FILL_MODE_UPPER ? i <= j : i >= j;
}

Wide symmetric(const Matrix<T>& a, cublasFillMode_t fill, int i, int j) {
  return is_stored(fill, i, j) ? a.at(i, j) : a.at(j, i);
}

Wide triangular(const Matrix<T>& a, cublasFillMode_t fill, cublasDiagType_t diag, cublasOperation_t op, int i,
                int j) {
  if (i == j && diag == CUBLAS_DIAG_UNIT) return 1;
  const bool swapped = op != CUBLAS_OP_N;
  return is_stored(fill, swapped ? j : i, swapped ? i : j) ? a.at(i, j, op) : 0;
}

void rank_k(cublasHandle_t handle) {
  const int n = 7, k = 5;
  for (const auto fill : kFills)
    for (const bool is_plain : {true, false}) {
      const cublasOperation_t op = is_plain ? CUBLAS_OP_N : CUBLAS_OP_T;
      Matrix<T> a(is_plain ? n : k, is_plain ? k : n, 1), c(n, n, 2), h(n, n, 3);
      FINE(cublasZsyrk(handle, fill, op, n, k, &kTwo, a.device, a.ld, &kOne, c.device, c.ld));
      HOLDS(c.wrong([&](int i, int j) {
        Wide sum = 0;
        for (int p = 0; p < k; ++p) sum += a.at(i, p, op) * a.at(j, p, op);
        return is_stored(fill, i, j) ? 2.0 * sum + c.at(i, j) : c.at(i, j);
      }) == 0);
      const double two = 2, zero = 0;
      const cublasOperation_t hermitian = is_plain ? CUBLAS_OP_N : CUBLAS_OP_C;
      FINE(cublasZherk(handle, fill, hermitian, n, k, &two, a.device, a.ld, &zero, h.device, h.ld));
      HOLDS(h.wrong([&](int i, int j) {
        Wide sum = 0;
        for (int p = 0; p < k; ++p) sum += a.at(i, p, hermitian) * std::conj(a.at(j, p, hermitian));
        return is_stored(fill, i, j) ? 2.0 * sum : h.at(i, j);
      }) == 0);
    }
}

void on_each_side(cublasHandle_t handle) {
  const int m = 6, n = 4;
  for (const auto side : kSides)
    for (const auto fill : kFills) {
      const bool left = side == CUBLAS_SIDE_LEFT;
      const int size = left ? m : n;
      Matrix<T> a(size, size, 1), b(m, n, 2), c(m, n, 3);
      FINE(cublasZsymm(handle, side, fill, m, n, &kTwo, a.device, a.ld, b.device, b.ld, &kOne, c.device,
                       c.ld));
      HOLDS(c.wrong([&](int i, int j) {
        Wide sum = 0;
        for (int p = 0; p < size; ++p)
          sum += left ? symmetric(a, fill, i, p) * b.at(p, j) : b.at(i, p) * symmetric(a, fill, p, j);
        return 2.0 * sum + c.at(i, j);
      }) == 0);
      for (const auto op : kOperations)
        for (const auto diag : kDiagonals) {
          Matrix<T> product(m, n, 4);
          FINE(cublasZtrmm(handle, side, fill, op, diag, m, n, &kTwo, a.device, a.ld, b.device, b.ld,
                           product.device, product.ld));
          HOLDS(product.wrong([&](int i, int j) {
            Wide sum = 0;
            for (int p = 0; p < size; ++p)
              sum += left ? triangular(a, fill, diag, op, i, p) * b.at(p, j)
                          : b.at(i, p) * triangular(a, fill, diag, op, p, j);
            return 2.0 * sum;
          }) == 0);
        }
    }
}

// What a triangular product made, a triangular system takes back.
void systems(cublasHandle_t handle) {
  const int m = 6, n = 4;
  for (const auto side : kSides)
    for (const auto fill : kFills)
      for (const auto op : kOperations)
        for (const auto diag : kDiagonals) {
          const int size = side == CUBLAS_SIDE_LEFT ? m : n;
          Matrix<T> a(size, size, 1), b(m, n, 2), x(m, n, 3);
          for (int i = 0; i < size; ++i) a.host[i + i * a.ld] = make_cuDoubleComplex(8, 1);
          cudaMemcpy(a.device, a.host.data(), a.host.size() * sizeof(T), cudaMemcpyHostToDevice);
          FINE(cublasZtrmm(handle, side, fill, op, diag, m, n, &kOne, a.device, a.ld, b.device, b.ld,
                           x.device, x.ld));
          FINE(cublasZtrsm(handle, side, fill, op, diag, m, n, &kTwo, a.device, a.ld, x.device, x.ld));
          HOLDS(x.wrong([&](int i, int j) { return 2.0 * b.at(i, j); }, 1e-9) == 0);
        }
}

void element_by_element(cublasHandle_t handle) {
  const int m = 5, n = 7;
  Matrix<T> a(m, n, 1), b(n, m, 2), c(m, n, 3), x(m, 1, 4), y(n, 1, 5);
  FINE(cublasZgeam(handle, CUBLAS_OP_N, CUBLAS_OP_C, m, n, &kTwo, a.device, a.ld, &kOne, b.device, b.ld,
                   c.device, c.ld));
  HOLDS(c.wrong([&](int i, int j) { return 2.0 * a.at(i, j) + std::conj(b.at(j, i)); }) == 0);
  FINE(cublasZdgmm(handle, CUBLAS_SIDE_LEFT, m, n, a.device, a.ld, x.device, 1, c.device, c.ld));
  HOLDS(c.wrong([&](int i, int j) { return a.at(i, j) * x.at(i, 0); }) == 0);
  FINE(cublasZdgmm(handle, CUBLAS_SIDE_RIGHT, m, n, a.device, a.ld, y.device, 1, c.device, c.ld));
  HOLDS(c.wrong([&](int i, int j) { return a.at(i, j) * y.at(j, 0); }) == 0);
}

int main() {
  cublasHandle_t handle;
  FINE(cublasCreate(&handle));
  rank_k(handle);
  on_each_side(handle);
  systems(handle);
  element_by_element(handle);
  FINE(cublasDestroy(handle));
  return finish();
}
