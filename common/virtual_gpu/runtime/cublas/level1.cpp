// Vectors: cuBLAS level 1.
#include "cublas/call.h"

namespace vgpu::blas {
namespace {

// y = alpha x + y, in the place of y.
cublasStatus_t axpy(const char* function, Handle handle, int64_t n, const void* alpha, cudaDataType scale,
                    const void* x, cudaDataType x_type, int64_t incx, void* y, cudaDataType y_type,
                    int64_t incy) {
  if (n <= 0) return CUBLAS_STATUS_SUCCESS;
  const BlasMatrix out = vector(y, y_type, n, incy);
  return Call(function, handle, BlasOp::kCombine, y_type)
      .scale_type(scale)
      .sizes(n, 1)
      .operands(vector(x, x_type, n, incx), out, out)
      .alpha(alpha)
      .beta_is(1)
      .send();
}

cublasStatus_t copy(const char* function, Handle handle, int64_t n, const void* x, cudaDataType type,
                    int64_t incx, void* y, int64_t incy) {
  if (n <= 0) return CUBLAS_STATUS_SUCCESS;
  const BlasMatrix out = vector(y, type, n, incy);
  return Call(function, handle, BlasOp::kCombine, type)
      .sizes(n, 1)
      .operands(vector(x, type, n, incx), out, out)
      .alpha_is(1)
      .send();
}

cublasStatus_t scal(const char* function, Handle handle, int64_t n, const void* alpha, cudaDataType scale,
                    void* x, cudaDataType type, int64_t incx) {
  if (n <= 0 || incx <= 0) return CUBLAS_STATUS_SUCCESS;
  const BlasMatrix out = vector(x, type, n, incx);
  return Call(function, handle, BlasOp::kCombine, type)
      .scale_type(scale)
      .sizes(n, 1)
      .operands(out, out, out)
      .alpha(alpha)
      .send();
}

cublasStatus_t swap(const char* function, Handle handle, int64_t n, void* x, cudaDataType type, int64_t incx,
                    void* y, int64_t incy) {
  if (n <= 0) return CUBLAS_STATUS_SUCCESS;
  return Call(function, handle, BlasOp::kSwap, type)
      .sizes(n, 1)
      .operands(vector(x, type, n, incx), vector(y, type, n, incy))
      .send();
}

cublasStatus_t rot(const char* function, Handle handle, int64_t n, void* x, cudaDataType type, int64_t incx,
                   void* y, int64_t incy, const void* c, const void* s) {
  if (n <= 0) return CUBLAS_STATUS_SUCCESS;
  return Call(function, handle, BlasOp::kRotate, type)
      .sizes(n, 1)
      .operands(vector(x, type, n, incx), vector(y, type, n, incy))
      .alpha(c)
      .beta(s)
      .send();
}

cublasStatus_t dot(const char* function, Handle handle, int64_t n, const void* x, cudaDataType x_type,
                   int64_t incx, const void* y, cudaDataType y_type, int64_t incy, void* result,
                   cudaDataType type, bool conjugate) {
  const BlasMatrix first = vector(x, x_type, n > 0 ? n : 0, incx);
  return Call(function, handle, BlasOp::kDot, x_type)
      .sizes(n > 0 ? n : 0, 1)
      .operands(conjugate ? conjugated(first) : first, vector(y, y_type, n > 0 ? n : 0, incy))
      .send(result, type);
}

// Nothing to go over, or no way to: the result is 0.
cublasStatus_t reduce(const char* function, Handle handle, BlasOp op, int64_t n, const void* x,
                      cudaDataType type, int64_t incx, void* result, cudaDataType result_type) {
  const int64_t size = incx <= 0 || n < 0 ? 0 : n;
  return Call(function, handle, op, type)
      .sizes(size, 1)
      .operands(vector(x, type, size, incx))
      .send(result, result_type);
}

bool are_known(std::initializer_list<cudaDataType> types) {
  for (const cudaDataType type : types)
    if (!is_known(type)) return false;
  return true;
}

}  // namespace
}  // namespace vgpu::blas

using namespace vgpu::blas;

#define VECTORS(T, type, INT, W)                                                                           \
  VGPU_BLAS(cublas##T##axpy_v2##W,                                                                         \
            (cublasHandle_t handle, INT n, const type* alpha, const type* x, INT incx, type* y, INT incy), \
            axpy(function, *handle, n, alpha, kType<type>, x, kType<type>, incx, y, kType<type>, incy))    \
  VGPU_BLAS(cublas##T##copy_v2##W,                                                                         \
            (cublasHandle_t handle, INT n, const type* x, INT incx, type* y, INT incy),                    \
            copy(function, *handle, n, x, kType<type>, incx, y, incy))                                     \
  VGPU_BLAS(cublas##T##swap_v2##W, (cublasHandle_t handle, INT n, type * x, INT incx, type * y, INT incy), \
            swap(function, *handle, n, x, kType<type>, incx, y, incy))                                     \
  VGPU_BLAS(cublas##T##scal_v2##W, (cublasHandle_t handle, INT n, const type* alpha, type* x, INT incx),   \
            scal(function, *handle, n, alpha, kType<type>, x, kType<type>, incx))
#define SCAL_BY_REAL(name, type, real, INT, W)                                                          \
  VGPU_BLAS(cublas##name##_v2##W, (cublasHandle_t handle, INT n, const real* alpha, type* x, INT incx), \
            scal(function, *handle, n, alpha, kType<real>, x, kType<type>, incx))
#define DOT(name, type, conjugate, INT, W)                                                            \
  VGPU_BLAS(                                                                                          \
      cublas##name##_v2##W,                                                                           \
      (cublasHandle_t handle, INT n, const type* x, INT incx, const type* y, INT incy, type* result), \
      dot(function, *handle, n, x, kType<type>, incx, y, kType<type>, incy, result, kType<type>, conjugate))
#define REDUCTION(name, op, type, real, INT, W)                                                          \
  VGPU_BLAS(cublas##name##_v2##W, (cublasHandle_t handle, INT n, const type* x, INT incx, real* result), \
            reduce(function, *handle, BlasOp::op, n, x, kType<type>, incx, result, kType<real>))
#define NORM(name, type, real, INT, W) REDUCTION(name, kNorm, type, real, INT, W)
#define ABSOLUTE_SUM(name, type, real, INT, W) REDUCTION(name, kAbsoluteSum, type, real, INT, W)
#define INDEX(t, type, INT, W)                            \
  REDUCTION(I##t##amax, kLargestIndex, type, INT, INT, W) \
  REDUCTION(I##t##amin, kSmallestIndex, type, INT, INT, W)
#define ROTATION(name, type, INT, W)                                                                        \
  VGPU_BLAS(                                                                                                \
      cublas##name##_v2##W,                                                                                 \
      (cublasHandle_t handle, INT n, type * x, INT incx, type * y, INT incy, const type* c, const type* s), \
      rot(function, *handle, n, x, kType<type>, incx, y, incy, c, s))
#define LEVEL_1(INT, W)                                                                                 \
  CUBLAS_ALL_TYPES(VECTORS, INT, W)                                                                     \
  SCAL_BY_REAL(Csscal, cuComplex, float, INT, W)                                                        \
  SCAL_BY_REAL(Zdscal, cuDoubleComplex, double, INT, W)                                                 \
  CUBLAS_DOTS(DOT, INT, W)                                                                              \
  CUBLAS_NORMS(NORM, INT, W)                                                                            \
  CUBLAS_ABSOLUTE_SUMS(ABSOLUTE_SUM, INT, W)                                                            \
  CUBLAS_INDICES(INDEX, INT, W)                                                                         \
  ROTATION(Srot, float, INT, W)                                                                         \
  ROTATION(Drot, double, INT, W)                                                                        \
  VGPU_BLAS(cublasAxpyEx##W,                                                                            \
            (cublasHandle_t handle, INT n, const void* alpha, cudaDataType scale, const void* x,        \
             cudaDataType x_type, INT incx, void* y, cudaDataType y_type, INT incy, cudaDataType),      \
            !are_known({scale, x_type, y_type})                                                         \
                ? CUBLAS_STATUS_NOT_SUPPORTED                                                           \
                : axpy(function, *handle, n, alpha, scale, x, x_type, incx, y, y_type, incy))           \
  VGPU_BLAS(cublasScalEx##W,                                                                            \
            (cublasHandle_t handle, INT n, const void* alpha, cudaDataType scale, void* x,              \
             cudaDataType type, INT incx, cudaDataType),                                                \
            !are_known({scale, type}) ? CUBLAS_STATUS_NOT_SUPPORTED                                     \
                                      : scal(function, *handle, n, alpha, scale, x, type, incx))        \
  VGPU_BLAS(cublasDotEx##W,                                                                             \
            (cublasHandle_t handle, INT n, const void* x, cudaDataType x_type, INT incx, const void* y, \
             cudaDataType y_type, INT incy, void* result, cudaDataType type, cudaDataType),             \
            !are_known({x_type, y_type, type})                                                          \
                ? CUBLAS_STATUS_NOT_SUPPORTED                                                           \
                : dot(function, *handle, n, x, x_type, incx, y, y_type, incy, result, type, false))     \
  VGPU_BLAS(cublasDotcEx##W,                                                                            \
            (cublasHandle_t handle, INT n, const void* x, cudaDataType x_type, INT incx, const void* y, \
             cudaDataType y_type, INT incy, void* result, cudaDataType type, cudaDataType),             \
            !are_known({x_type, y_type, type})                                                          \
                ? CUBLAS_STATUS_NOT_SUPPORTED                                                           \
                : dot(function, *handle, n, x, x_type, incx, y, y_type, incy, result, type, true))      \
  VGPU_BLAS(cublasNrm2Ex##W,                                                                            \
            (cublasHandle_t handle, INT n, const void* x, cudaDataType x_type, INT incx, void* result,  \
             cudaDataType type, cudaDataType),                                                          \
            !are_known({x_type, type})                                                                  \
                ? CUBLAS_STATUS_NOT_SUPPORTED                                                           \
                : reduce(function, *handle, BlasOp::kNorm, n, x, x_type, incx, result, type))

LEVEL_1(int, )
LEVEL_1(int64_t, _64)
