// Batches of small systems of equations: LU factors, solutions, inverses and least squares. They are computed
// in the program between two copies, in double precision, and rounded once.
#include <cmath>
#include <complex>
#include <type_traits>
#include <vector>

#include "capture.h"
#include "cublas/call.h"
#include "errors.h"

namespace vgpu::blas {
namespace {

using Number = std::complex<double>;

template <class T>
Number wide(T value) {
  if constexpr (std::is_same_v<T, cuComplex> || std::is_same_v<T, cuDoubleComplex>)
    return {value.x, value.y};
  else
    return value;
}

template <class T>
T narrow(Number value) {
  if constexpr (std::is_same_v<T, cuComplex>)
    return make_cuComplex(static_cast<float>(value.real()), static_cast<float>(value.imag()));
  else if constexpr (std::is_same_v<T, cuDoubleComplex>)
    return make_cuDoubleComplex(value.real(), value.imag());
  else
    return static_cast<T>(value.real());
}

struct Matrix {
  int rows, cols;
  std::vector<Number> values;
  Number& at(int i, int j) {
    return values[static_cast<size_t>(j) * static_cast<size_t>(rows) + static_cast<size_t>(i)];
  }
};

// What one call brings from the device and takes back, in the order of the handle's stream.
class Transfer {
 public:
  explicit Transfer(Handle handle) : stream_(handle.stream) {}
  bool is_fine() const { return error_ == cudaSuccess; }
  cublasStatus_t status() const { return status_of(error_); }

  template <class V>
  std::vector<V> get(const V* from, int count) {
    std::vector<V> values(static_cast<size_t>(count));
    copy(values.data(), from, values.size() * sizeof(V), cudaMemcpyDeviceToHost);
    return values;
  }

  template <class V>
  void put(V* to, const std::vector<V>& values) {
    copy(to, values.data(), values.size() * sizeof(V), cudaMemcpyHostToDevice);
  }

  template <class T>
  Matrix get(const T* from, int ld, int rows, int cols) {
    Matrix matrix{rows, cols, {}};
    std::vector<T> values(static_cast<size_t>(rows) * static_cast<size_t>(cols));
    copy(values.data(), row_bytes<T>(rows), from, row_bytes<T>(ld), row_bytes<T>(rows), cols,
         cudaMemcpyDeviceToHost);
    for (const T& value : values) matrix.values.push_back(wide(value));
    return matrix;
  }

  template <class T>
  void put(T* to, int ld, const Matrix& matrix) {
    std::vector<T> values;
    for (const Number& value : matrix.values) values.push_back(narrow<T>(value));
    copy(to, row_bytes<T>(ld), values.data(), row_bytes<T>(matrix.rows), row_bytes<T>(matrix.rows),
         matrix.cols, cudaMemcpyHostToDevice);
  }

 private:
  template <class T>
  static size_t row_bytes(int count) {
    return static_cast<size_t>(count) * sizeof(T);
  }

  void copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    copy(to, bytes, from, bytes, bytes, 1, kind);
  }

  void copy(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, int height,
            cudaMemcpyKind kind) {
    if (error_ == cudaSuccess)
      error_ = cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, static_cast<size_t>(height), kind,
                                 stream_);
    if (error_ == cudaSuccess) error_ = cudaStreamSynchronize(stream_);
  }

  cudaStream_t stream_;
  cudaError_t error_ = cudaSuccess;
};

// L and U in the place of the matrix, by rows' exchanges as LAPACK counts them. The place of the first pivot
// that is 0, counted from 1; or 0.
int factorize(Matrix& a, std::vector<int>* pivots) {
  int info = 0;
  for (int k = 0; k < a.rows; ++k) {
    int best = k;
    const auto size = [&](int i) { return std::abs(a.at(i, k).real()) + std::abs(a.at(i, k).imag()); };
    for (int i = k + 1; pivots != nullptr && i < a.rows; ++i)
      if (size(i) > size(best)) best = i;
    if (pivots != nullptr) pivots->push_back(best + 1);
    if (a.at(best, k) == 0.0) {
      if (info == 0) info = k + 1;
      continue;
    }
    for (int j = 0; best != k && j < a.cols; ++j) std::swap(a.at(k, j), a.at(best, j));
    for (int i = k + 1; i < a.rows; ++i) {
      const Number factor = a.at(i, k) /= a.at(k, k);
      for (int j = k + 1; j < a.cols; ++j) a.at(i, j) -= factor * a.at(k, j);
    }
  }
  return info;
}

// Of a matrix that is factorized: x for b, in its place.
void solve_factorized(Matrix& lu, const int* pivots, Matrix& b) {
  const int n = lu.rows;
  for (int j = 0; j < b.cols; ++j) {
    for (int i = 0; pivots != nullptr && i < n; ++i)
      if (pivots[i] - 1 != i) std::swap(b.at(i, j), b.at(pivots[i] - 1, j));
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < i; ++k) b.at(i, j) -= lu.at(i, k) * b.at(k, j);
    for (int i = n - 1; i >= 0; --i) {
      for (int k = i + 1; k < n; ++k) b.at(i, j) -= lu.at(i, k) * b.at(k, j);
      b.at(i, j) /= lu.at(i, i);
    }
  }
}

// The same for the transposed or adjoint matrix.
void solve_transposed(Matrix& lu, const int* pivots, Matrix& b, bool is_adjoint) {
  const int n = lu.rows;
  const auto entry = [&](int i, int j) { return is_adjoint ? std::conj(lu.at(i, j)) : lu.at(i, j); };
  for (int j = 0; j < b.cols; ++j) {
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k < i; ++k) b.at(i, j) -= entry(k, i) * b.at(k, j);
      b.at(i, j) /= entry(i, i);
    }
    for (int i = n - 1; i >= 0; --i)
      for (int k = i + 1; k < n; ++k) b.at(i, j) -= entry(k, i) * b.at(k, j);
    for (int i = n - 1; pivots != nullptr && i >= 0; --i)
      if (pivots[i] - 1 != i) std::swap(b.at(i, j), b.at(pivots[i] - 1, j));
  }
}

Matrix identity(int n) {
  Matrix one{n, n, std::vector<Number>(static_cast<size_t>(n) * static_cast<size_t>(n))};
  for (int i = 0; i < n; ++i) one.at(i, i) = 1.0;
  return one;
}

bool are_pivots(const std::vector<int>& pivots, int n) {
  for (const int pivot : pivots)
    if (pivot < 1 || pivot > n) return false;
  return true;
}

// Householder's QR of a, each reflection applied to c too; then R x = c. As factorize() for a column that
// depends on those before it.
int solve_least_squares(Matrix& a, Matrix& c) {
  const int m = a.rows, n = a.cols;
  for (int k = 0; k < n; ++k) {
    double norm = 0;
    for (int i = k; i < m; ++i) norm += std::norm(a.at(i, k));
    norm = std::sqrt(norm);
    if (norm == 0) return k + 1;
    const Number head = a.at(k, k);
    const Number phase = std::abs(head) == 0 ? Number(1.0) : head / std::abs(head);
    const Number diagonal = -phase * norm, first = head - diagonal;
    std::vector<Number> v{1.0};  // the reflection is 1 - tau v v*
    for (int i = k + 1; i < m; ++i) v.push_back(a.at(i, k) / first);
    const double tau = std::abs(first) / norm;
    const auto reflect = [&](Matrix& matrix, int column) {
      Number sum = 0.0;
      for (int i = k; i < m; ++i) sum += std::conj(v[static_cast<size_t>(i - k)]) * matrix.at(i, column);
      for (int i = k; i < m; ++i) matrix.at(i, column) -= tau * sum * v[static_cast<size_t>(i - k)];
    };
    for (int j = k + 1; j < n; ++j) reflect(a, j);
    for (int j = 0; j < c.cols; ++j) reflect(c, j);
    a.at(k, k) = diagonal;
    for (int i = k + 1; i < m; ++i) a.at(i, k) = v[static_cast<size_t>(i - k)];
  }
  for (int j = 0; j < c.cols; ++j)
    for (int i = n - 1; i >= 0; --i) {
      for (int k = i + 1; k < n; ++k) c.at(i, j) -= a.at(i, k) * c.at(k, j);
      c.at(i, j) /= a.at(i, i);
    }
  return 0;
}

cublasStatus_t refuse_in_capture(const char* function, Handle handle, bool* warned) {
  if (!is_capturing(StreamChoice{NullStream::kLegacy}.on(handle.stream))) return CUBLAS_STATUS_SUCCESS;
  vgpu::not_supported((std::string(function) + " in a capture").c_str(), warned,
                      "CUBLAS_STATUS_NOT_SUPPORTED");
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

template <class T>
cublasStatus_t getrf(Handle handle, int n, T* const a[], int lda, int* pivots, int* info, int batches) {
  if (!are_sizes({n, batches}) || !is_leading(lda, n) || info == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  Transfer transfer(handle);
  const std::vector<T*> at = transfer.get(a, batches);
  std::vector<int> all_pivots, infos;
  for (int i = 0; i < batches && transfer.is_fine(); ++i) {
    Matrix matrix = transfer.get(at[static_cast<size_t>(i)], lda, n, n);
    infos.push_back(factorize(matrix, pivots != nullptr ? &all_pivots : nullptr));
    transfer.put(at[static_cast<size_t>(i)], lda, matrix);
  }
  if (pivots != nullptr) transfer.put(pivots, all_pivots);
  transfer.put(info, infos);
  return transfer.status();
}

template <class T>
cublasStatus_t getrs(Handle handle, cublasOperation_t op, int n, int columns, const T* const a[], int lda,
                     const int* pivots, T* const b[], int ldb, int* info, int batches) {
  const bool is_fine =
      is_operation(op) && are_sizes({n, columns, batches}) && is_leading(lda, n) && is_leading(ldb, n);
  if (info != nullptr) *info = is_fine ? 0 : -1;
  if (!is_fine || info == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  Transfer transfer(handle);
  const std::vector<const T*> at = transfer.get(a, batches);
  const std::vector<T*> to = transfer.get(b, batches);
  std::vector<int> own;
  for (int i = 0; i < batches && transfer.is_fine(); ++i) {
    Matrix matrix = transfer.get(at[static_cast<size_t>(i)], lda, n, n);
    Matrix right = transfer.get(to[static_cast<size_t>(i)], ldb, n, columns);
    if (pivots != nullptr) own = transfer.get(pivots + static_cast<ptrdiff_t>(i) * n, n);
    if (!transfer.is_fine()) break;
    if (!are_pivots(own, n)) return CUBLAS_STATUS_INVALID_VALUE;
    const int* const exchanges = pivots != nullptr ? own.data() : nullptr;
    if (op == CUBLAS_OP_N)
      solve_factorized(matrix, exchanges, right);
    else
      solve_transposed(matrix, exchanges, right, op == CUBLAS_OP_C);
    transfer.put(to[static_cast<size_t>(i)], ldb, right);
  }
  return transfer.status();
}

// The inverses of matrices that are factorized, or, with `is_whole`, of those that are not.
template <class T>
cublasStatus_t invert(Handle handle, int n, const T* const a[], int lda, const int* pivots, bool is_whole,
                      T* const c[], int ldc, int* info, int batches) {
  if (!are_sizes({n, batches}) || !is_leading(lda, n) || !is_leading(ldc, n) || info == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  Transfer transfer(handle);
  const std::vector<const T*> at = transfer.get(a, batches);
  const std::vector<T*> to = transfer.get(c, batches);
  std::vector<int> infos, own;
  for (int i = 0; i < batches && transfer.is_fine(); ++i) {
    Matrix matrix = transfer.get(at[static_cast<size_t>(i)], lda, n, n);
    own.clear();
    if (pivots != nullptr) own = transfer.get(pivots + static_cast<ptrdiff_t>(i) * n, n);
    if (!transfer.is_fine()) break;
    infos.push_back(0);
    if (is_whole) infos.back() = factorize(matrix, &own);
    if (!are_pivots(own, n)) return CUBLAS_STATUS_INVALID_VALUE;
    for (int k = n - 1; k >= 0; --k)
      if (matrix.at(k, k) == 0.0) infos.back() = k + 1;
    if (infos.back() != 0) continue;
    Matrix inverse = identity(n);
    solve_factorized(matrix, own.empty() ? nullptr : own.data(), inverse);
    transfer.put(to[static_cast<size_t>(i)], ldc, inverse);
  }
  transfer.put(info, infos);
  return transfer.status();
}

// Overdetermined systems of plain matrices, as cuBLAS has them.
template <class T>
cublasStatus_t gels(Handle handle, cublasOperation_t op, int m, int n, int columns, T* const a[], int lda,
                    T* const c[], int ldc, int* info, int* infos_out, int batches) {
  const bool is_fine =
      are_sizes({m, n, columns, batches}) && is_leading(lda, m) && is_leading(ldc, m) && op <= CUBLAS_OP_C;
  if (info != nullptr) *info = is_fine ? 0 : -1;
  if (!is_fine || info == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (op != CUBLAS_OP_N || m < n) return CUBLAS_STATUS_NOT_SUPPORTED;
  Transfer transfer(handle);
  const std::vector<T*> at = transfer.get(a, batches), to = transfer.get(c, batches);
  std::vector<int> infos;
  for (int i = 0; i < batches && transfer.is_fine(); ++i) {
    Matrix matrix = transfer.get(at[static_cast<size_t>(i)], lda, m, n);
    Matrix right = transfer.get(to[static_cast<size_t>(i)], ldc, m, columns);
    infos.push_back(solve_least_squares(matrix, right));
    transfer.put(at[static_cast<size_t>(i)], lda, matrix);
    transfer.put(to[static_cast<size_t>(i)], ldc, right);
  }
  if (infos_out != nullptr) transfer.put(infos_out, infos);
  return transfer.status();
}

}  // namespace
}  // namespace vgpu::blas

// Where the stream is not being captured.
#define VGPU_SOLVER(name, params, ...)                                                     \
  VGPU_BLAS(name, params, [&] {                                                            \
    static bool warned = false;                                                            \
    const cublasStatus_t refused = vgpu::blas::refuse_in_capture(#name, *handle, &warned); \
    return refused != CUBLAS_STATUS_SUCCESS || batches == 0 ? refused : __VA_ARGS__;       \
  }())

#define SOLVERS(S, T)                                                                                        \
  VGPU_SOLVER(cublas##S##getrfBatched,                                                                       \
              (cublasHandle_t handle, int n, T* const a[], int lda, int* pivots, int* info, int batches),    \
              vgpu::blas::getrf(*handle, n, a, lda, pivots, info, batches))                                  \
  VGPU_SOLVER(cublas##S##getrsBatched,                                                                       \
              (cublasHandle_t handle, cublasOperation_t op, int n, int columns, const T* const a[], int lda, \
               const int* pivots, T* const b[], int ldb, int* info, int batches),                            \
              vgpu::blas::getrs(*handle, op, n, columns, a, lda, pivots, b, ldb, info, batches))             \
  VGPU_SOLVER(cublas##S##getriBatched,                                                                       \
              (cublasHandle_t handle, int n, const T* const a[], int lda, const int* pivots, T* const c[],   \
               int ldc, int* info, int batches),                                                             \
              vgpu::blas::invert(*handle, n, a, lda, pivots, false, c, ldc, info, batches))                  \
  VGPU_SOLVER(cublas##S##matinvBatched,                                                                      \
              (cublasHandle_t handle, int n, const T* const a[], int lda, T* const c[], int ldc, int* info,  \
               int batches),                                                                                 \
              vgpu::blas::invert<T>(*handle, n, a, lda, nullptr, true, c, ldc, info, batches))               \
  VGPU_SOLVER(cublas##S##gelsBatched,                                                                        \
              (cublasHandle_t handle, cublasOperation_t op, int m, int n, int columns, T* const a[],         \
               int lda, T* const c[], int ldc, int* info, int* infos, int batches),                          \
              vgpu::blas::gels(*handle, op, m, n, columns, a, lda, c, ldc, info, infos, batches))

SOLVERS(S, float)
SOLVERS(D, double)
SOLVERS(C, cuComplex)
SOLVERS(Z, cuDoubleComplex)
