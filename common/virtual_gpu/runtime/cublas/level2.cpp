// Matrices and vectors: cuBLAS level 2. A vector is a matrix of one column, so that all but the triangular
// systems are products.
#include "cublas/call.h"

namespace vgpu::blas {
namespace {

cublasStatus_t gemv(const char* function, Handle handle, cudaDataType type, cublasOperation_t op, int64_t m,
                    int64_t n, int64_t lda, int64_t incx, int64_t incy, int64_t batches, const Scalars& by,
                    const BlasMatrix& a, BlasMatrix x, BlasMatrix y) {
  if (!is_operation(op) || !are_sizes({m, n, batches}) || !is_leading(lda, m) || incx == 0 || incy == 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  const bool is_plain = op == CUBLAS_OP_N;
  return Call(function, handle, BlasOp::kMultiply, type)
      .sizes(is_plain ? m : n, 1, is_plain ? n : m, batches)
      .operands(a, x, y)
      .alpha(by.alpha)
      .beta(by.beta)
      .send();
}

int64_t length_in(cublasOperation_t op, int64_t m, int64_t n) {
  return op == CUBLAS_OP_N ? n : m;
}

int64_t length_out(cublasOperation_t op, int64_t m, int64_t n) {
  return op == CUBLAS_OP_N ? m : n;
}

cublasStatus_t ger(const char* function, Handle handle, cudaDataType type, int64_t m, int64_t n,
                   const void* alpha, const void* x, int64_t incx, const void* y, int64_t incy, void* a,
                   int64_t lda, bool conjugate) {
  if (!are_sizes({m, n}) || !is_leading(lda, m) || incx == 0 || incy == 0) return CUBLAS_STATUS_INVALID_VALUE;
  const BlasMatrix row = transposed(vector(y, type, n, incy));
  return Call(function, handle, BlasOp::kMultiply, type)
      .sizes(m, n, 1)
      .operands(vector(x, type, m, incx), conjugate ? conjugated(row) : row, matrix(a, type, lda))
      .alpha(alpha)
      .beta_is(1)
      .send();
}

cublasStatus_t symv(const char* function, Handle handle, cudaDataType type, cublasFillMode_t fill, int64_t n,
                    const Scalars& by, const void* a, int64_t lda, const void* x, int64_t incx, void* y,
                    int64_t incy) {
  if (!are_sizes({n}) || !is_leading(lda, n) || incx == 0 || incy == 0) return CUBLAS_STATUS_INVALID_VALUE;
  return Call(function, handle, BlasOp::kMultiply, type)
      .sizes(n, 1, n)
      .operands(triangle(matrix(a, type, lda), fill, CUBLAS_OP_N, wire::kSymmetric), vector(x, type, n, incx),
                vector(y, type, n, incy))
      .alpha(by.alpha)
      .beta(by.beta)
      .send();
}

// x = op(A) x, or the x of which that is true.
cublasStatus_t triangular(const char* function, Handle handle, BlasOp op, cudaDataType type,
                          cublasFillMode_t fill, cublasOperation_t trans, cublasDiagType_t diag, int64_t n,
                          const void* a, int64_t lda, void* x, int64_t incx) {
  if (!is_operation(trans) || !are_sizes({n}) || !is_leading(lda, n) || incx == 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  const uint32_t unit = diag == CUBLAS_DIAG_UNIT ? uint32_t{wire::kUnitDiagonal} : 0;
  const BlasMatrix in = vector(x, type, n, incx);
  return Call(function, handle, op, type)
      .sizes(n, 1, n)
      .operands(triangle(matrix(a, type, lda, trans), fill, trans, wire::kTriangular | unit), in, in)
      .alpha_is(1)
      .send();
}

}  // namespace
}  // namespace vgpu::blas

using namespace vgpu::blas;

#define LEVEL_2_OF_TYPE(T, type, INT, W)                                                                     \
  VGPU_BLAS(cublas##T##gemv_v2##W,                                                                           \
            (cublasHandle_t handle, cublasOperation_t op, INT m, INT n, const type* alpha, const type* a,    \
             INT lda, const type* x, INT incx, const type* beta, type* y, INT incy),                         \
            gemv(function, *handle, kType<type>, op, m, n, lda, incx, incy, 1, {alpha, beta},                \
                 matrix(a, kType<type>, lda, op), vector(x, kType<type>, length_in(op, m, n), incx),         \
                 vector(y, kType<type>, length_out(op, m, n), incy)))                                        \
  VGPU_BLAS(cublas##T##gemvStridedBatched##W,                                                                \
            (cublasHandle_t handle, cublasOperation_t op, INT m, INT n, const type* alpha, const type* a,    \
             INT lda, long long stride_a, const type* x, INT incx, long long stride_x, const type* beta,     \
             type* y, INT incy, long long stride_y, INT batches),                                            \
            gemv(function, *handle, kType<type>, op, m, n, lda, incx, incy, batches, {alpha, beta},          \
                 strided(matrix(a, kType<type>, lda, op), stride_a),                                         \
                 strided(vector(x, kType<type>, length_in(op, m, n), incx), stride_x),                       \
                 strided(vector(y, kType<type>, length_out(op, m, n), incy), stride_y)))                     \
  VGPU_BLAS(                                                                                                 \
      cublas##T##gemvBatched##W,                                                                             \
      (cublasHandle_t handle, cublasOperation_t op, INT m, INT n, const type* alpha, const type* const a[],  \
       INT lda, const type* const x[], INT incx, const type* beta, type* const y[], INT incy, INT batches),  \
      incx < 0 || incy < 0                                                                                   \
          ? CUBLAS_STATUS_NOT_SUPPORTED                                                                      \
          : gemv(function, *handle, kType<type>, op, m, n, lda, incx, incy, batches, {alpha, beta},          \
                 pointers(matrix(a, kType<type>, lda, op)), pointers(vector(x, kType<type>, 0, incx)),       \
                 pointers(vector(y, kType<type>, 0, incy))))                                                 \
  VGPU_BLAS(cublas##T##symv_v2##W,                                                                           \
            (cublasHandle_t handle, cublasFillMode_t fill, INT n, const type* alpha, const type* a, INT lda, \
             const type* x, INT incx, const type* beta, type* y, INT incy),                                  \
            symv(function, *handle, kType<type>, fill, n, {alpha, beta}, a, lda, x, incx, y, incy))          \
  VGPU_BLAS(                                                                                                 \
      cublas##T##trmv_v2##W,                                                                                 \
      (cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t op, cublasDiagType_t diag, INT n,     \
       const type* a, INT lda, type* x, INT incx),                                                           \
      triangular(function, *handle, BlasOp::kMultiply, kType<type>, fill, op, diag, n, a, lda, x, incx))     \
  VGPU_BLAS(cublas##T##trsv_v2##W,                                                                           \
            (cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t op, cublasDiagType_t diag,      \
             INT n, const type* a, INT lda, type* x, INT incx),                                              \
            triangular(function, *handle, BlasOp::kSolve, kType<type>, fill, op, diag, n, a, lda, x, incx))
#define RANK_ONE(name, type, conjugate, INT, W)                                                              \
  VGPU_BLAS(cublas##name##_v2##W,                                                                            \
            (cublasHandle_t handle, INT m, INT n, const type* alpha, const type* x, INT incx, const type* y, \
             INT incy, type* a, INT lda),                                                                    \
            ger(function, *handle, kType<type>, m, n, alpha, x, incx, y, incy, a, lda, conjugate))
#define LEVEL_2(INT, W)                     \
  CUBLAS_ALL_TYPES(LEVEL_2_OF_TYPE, INT, W) \
  CUBLAS_RANK_ONES(RANK_ONE, INT, W)

LEVEL_2(int, )
LEVEL_2(int64_t, _64)
