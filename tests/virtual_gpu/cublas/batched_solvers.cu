// Batches of small systems: factors, solutions, inverses and least squares, each put back into its equations.
#include "matrix_host.cuh"

constexpr int kSize = 5, kRows = 7, kColumns = 2, kBatches = 3;

double entry(int batch, int i, int j) {
  return (i == j ? 4.0 : 0.0) + (batch * 5 + i * 7 + j * 3) % 11 / 5.0 - 1;
}

template <class T>
T number(double re, double im) {
  if constexpr (std::is_same_v<T, cuDoubleComplex>)
    return make_cuDoubleComplex(re, im);
  else if constexpr (std::is_same_v<T, cuComplex>)
    return make_cuComplex(static_cast<float>(re), static_cast<float>(im));
  else
    return static_cast<T>(re);
}

template <class T>
struct Batch {
  int rows, cols;
  std::vector<T> host;
  T* memory = nullptr;
  T** pointers = nullptr;

  Batch(int r, int c, int shift) : rows(r), cols(c) {
    for (int batch = 0; batch < kBatches; ++batch)
      for (int j = 0; j < c; ++j)
        for (int i = 0; i < r; ++i)
          host.push_back(number<T>(entry(batch + shift, i, j), entry(batch, j, i + shift) / 3));
    OK(cudaMalloc(&memory, host.size() * sizeof(T)));
    OK(cudaMalloc(&pointers, kBatches * sizeof(T*)));
    std::vector<T*> each;
    for (int batch = 0; batch < kBatches; ++batch) each.push_back(memory + batch * r * c);
    OK(cudaMemcpy(pointers, each.data(), kBatches * sizeof(T*), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(memory, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~Batch() {
    OK(cudaFree(memory));
    OK(cudaFree(pointers));
  }
  Wide before(int batch, int i, int j) const { return wide(host[(batch * cols + j) * rows + i]); }
  std::vector<T> now() const {
    std::vector<T> values(host.size());
    OK(cudaMemcpy(values.data(), memory, values.size() * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }
};

bool is_near(Wide a, Wide b) {
  return std::abs(a - b) < 1e-3;
}

template <class T>
void check_inverse(const Batch<T>& a, const std::vector<T>& inverse) {
  for (int batch = 0; batch < kBatches; ++batch)
    for (int i = 0; i < kSize; ++i)
      for (int j = 0; j < kSize; ++j) {
        Wide sum = 0;
        for (int k = 0; k < kSize; ++k)
          sum += a.before(batch, i, k) * wide(inverse[(batch * kSize + j) * kSize + k]);
        HOLDS(is_near(sum, i == j ? 1 : 0));
      }
}

template <class T>
void check_solution(const Batch<T>& a, const Batch<T>& b, cublasOperation_t op) {
  const std::vector<T> x = b.now();
  for (int batch = 0; batch < kBatches; ++batch)
    for (int j = 0; j < kColumns; ++j)
      for (int i = 0; i < kSize; ++i) {
        Wide sum = 0;
        for (int k = 0; k < kSize; ++k) {
          const Wide transposed = a.before(batch, k, i);
          const Wide own = op == CUBLAS_OP_N   ? a.before(batch, i, k)
                           : op == CUBLAS_OP_C ? std::conj(transposed)
                                               : transposed;
          sum += own * wide(x[(batch * kColumns + j) * kSize + k]);
        }
        HOLDS(is_near(sum, b.before(batch, i, j)));
      }
}

// What remains is orthogonal to every column.
template <class T>
void check_least_squares(const Batch<T>& a, const Batch<T>& c) {
  const std::vector<T> x = c.now();
  for (int batch = 0; batch < kBatches; ++batch)
    for (int j = 0; j < kColumns; ++j)
      for (int column = 0; column < kSize; ++column) {
        Wide product = 0;
        for (int i = 0; i < kRows; ++i) {
          Wide rest = c.before(batch, i, j);
          for (int k = 0; k < kSize; ++k)
            rest -= a.before(batch, i, k) * wide(x[(batch * kColumns + j) * kRows + k]);
          product += std::conj(a.before(batch, i, column)) * rest;
        }
        HOLDS(is_near(product, 0));
      }
}

#define CHECK_TYPE(S, T)                                                                                    \
  void check_##S(cublasHandle_t handle) {                                                                   \
    int *pivots, *infos, info = -7;                                                                         \
    OK(cudaMalloc(&pivots, kBatches * kSize * sizeof(int)));                                                \
    OK(cudaMalloc(&infos, kBatches * sizeof(int)));                                                         \
    for (const cublasOperation_t op : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}) {                            \
      Batch<T> a(kSize, kSize, 1), b(kSize, kColumns, 2), c(kSize, kSize, 0);                               \
      FINE(cublas##S##matinvBatched(handle, kSize, a.pointers, kSize, c.pointers, kSize, infos, kBatches)); \
      check_inverse(a, c.now());                                                                            \
      FINE(cublas##S##getrfBatched(handle, kSize, a.pointers, kSize, pivots, infos, kBatches));             \
      FINE(cublas##S##getrsBatched(handle, op, kSize, kColumns, a.pointers, kSize, pivots, b.pointers,      \
                                   kSize, &info, kBatches));                                                \
      HOLDS(info == 0);                                                                                     \
      check_solution(a, b, op);                                                                             \
      FINE(cublas##S##getriBatched(handle, kSize, a.pointers, kSize, pivots, c.pointers, kSize, infos,      \
                                   kBatches));                                                              \
      check_inverse(a, c.now());                                                                            \
    }                                                                                                       \
    Batch<T> a(kRows, kSize, 1), c(kRows, kColumns, 2);                                                     \
    FINE(cublas##S##gelsBatched(handle, CUBLAS_OP_N, kRows, kSize, kColumns, a.pointers, kRows, c.pointers, \
                                kRows, &info, infos, kBatches));                                            \
    HOLDS(info == 0);                                                                                       \
    check_least_squares(a, c);                                                                              \
    OK(cudaFree(pivots));                                                                                   \
    OK(cudaFree(infos));                                                                                    \
  }

CHECK_TYPE(S, float)
CHECK_TYPE(D, double)
CHECK_TYPE(C, cuComplex)
CHECK_TYPE(Z, cuDoubleComplex)

int main() {
  cublasHandle_t handle;
  FINE(cublasCreate(&handle));
  check_S(handle);
  check_D(handle);
  check_C(handle);
  check_Z(handle);
  FINE(cublasDestroy(handle));
  return finish();
}
