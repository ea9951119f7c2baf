/* cuBLAS for the virtual GPU, where NVIDIA's own header is not installed: the same names, types and numbers.
   docs/programs.md lists what computes; every other function answers CUBLAS_STATUS_NOT_SUPPORTED by name. */
#ifndef CUBLAS_V2_H_
#define CUBLAS_V2_H_

#include <cuComplex.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <library_types.h>
#include <stddef.h>
#include <stdint.h>

#ifndef CUBLASAPI
#define CUBLASAPI
#endif
#ifndef CUBLASWINAPI
#define CUBLASWINAPI
#endif

#define CUBLAS_VER_MAJOR 13
#define CUBLAS_VER_MINOR 0
#define CUBLAS_VER_PATCH 0
#define CUBLAS_VERSION (CUBLAS_VER_MAJOR * 10000 + CUBLAS_VER_MINOR * 100 + CUBLAS_VER_PATCH)

typedef enum {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
  CUBLAS_STATUS_LICENSE_ERROR = 16
} cublasStatus_t;

typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2, CUBLAS_OP_CONJG = 3 } cublasOperation_t;
#define CUBLAS_OP_HERMITAN CUBLAS_OP_C
typedef enum {
  CUBLAS_FILL_MODE_LOWER = 0,
  CUBLAS_FILL_MODE_UPPER = 1,
  CUBLAS_FILL_MODE_FULL = 2
} cublasFillMode_t;
typedef enum { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 } cublasDiagType_t;
typedef enum { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 } cublasSideMode_t;
typedef enum { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 } cublasPointerMode_t;
typedef enum { CUBLAS_ATOMICS_NOT_ALLOWED = 0, CUBLAS_ATOMICS_ALLOWED = 1 } cublasAtomicsMode_t;
typedef enum {
  CUBLAS_DEFAULT_MATH = 0,
  CUBLAS_TENSOR_OP_MATH = 1,
  CUBLAS_PEDANTIC_MATH = 2,
  CUBLAS_TF32_TENSOR_OP_MATH = 3,
  CUBLAS_FP32_EMULATED_BF16X9_MATH = 4,
  CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16
} cublasMath_t;
typedef enum {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_16F_PEDANTIC = 65,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_64F_PEDANTIC = 71,
  CUBLAS_COMPUTE_32I = 72,
  CUBLAS_COMPUTE_32I_PEDANTIC = 73,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
  CUBLAS_COMPUTE_32F_EMULATED_16BFX9 = 78
} cublasComputeType_t;
/* Every algorithm computes the same here. */
typedef enum {
  CUBLAS_GEMM_DFALT = -1,
  CUBLAS_GEMM_DEFAULT = -1,
#define CUBLAS_GEMM_ALGORITHM(n) CUBLAS_GEMM_ALGO##n = n,
#define CUBLAS_GEMM_TENSOR(n) CUBLAS_GEMM_ALGO##n##_TENSOR_OP = 100 + n,
#define CUBLAS_GEMM_SIXTEEN(X) \
  X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
  CUBLAS_GEMM_SIXTEEN(CUBLAS_GEMM_ALGORITHM) CUBLAS_GEMM_ALGORITHM(16) CUBLAS_GEMM_ALGORITHM(17)
      CUBLAS_GEMM_ALGORITHM(18) CUBLAS_GEMM_ALGORITHM(19) CUBLAS_GEMM_ALGORITHM(20) CUBLAS_GEMM_ALGORITHM(21)
          CUBLAS_GEMM_ALGORITHM(22) CUBLAS_GEMM_ALGORITHM(23) CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99,
  CUBLAS_GEMM_DFALT_TENSOR_OP = 99,
  CUBLAS_GEMM_SIXTEEN(CUBLAS_GEMM_TENSOR) CUBLAS_GEMM_AUTOTUNE = 999
#undef CUBLAS_GEMM_ALGORITHM
#undef CUBLAS_GEMM_TENSOR
#undef CUBLAS_GEMM_SIXTEEN
} cublasGemmAlgo_t;

typedef cudaDataType cublasDataType_t;
typedef struct cublasContext* cublasHandle_t;

#ifdef __cplusplus
extern "C" {
#endif

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle);
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle);
cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int* version);
cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value);
size_t cublasGetCudartVersion(void);
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes);
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream);
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode);
cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode);
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode);
cublasStatus_t cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t* mode);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode);
cublasStatus_t cublasSetSmCountTarget(cublasHandle_t handle, int count);
cublasStatus_t cublasGetSmCountTarget(cublasHandle_t handle, int* count);
const char* cublasGetStatusName(cublasStatus_t status);
const char* cublasGetStatusString(cublasStatus_t status);

/* Each of the others comes twice: with int sizes, and with 64-bit ones under a name that ends in _64. */
#define CUBLAS_OF_TYPE(T, type, INT, W)                                                                      \
  cublasStatus_t cublas##T##axpy_v2##W(cublasHandle_t, INT n, const type* alpha, const type* x, INT incx,    \
                                       type* y, INT incy);                                                   \
  cublasStatus_t cublas##T##copy_v2##W(cublasHandle_t, INT n, const type* x, INT incx, type* y, INT incy);   \
  cublasStatus_t cublas##T##swap_v2##W(cublasHandle_t, INT n, type* x, INT incx, type* y, INT incy);         \
  cublasStatus_t cublas##T##scal_v2##W(cublasHandle_t, INT n, const type* alpha, type* x, INT incx);         \
  cublasStatus_t cublas##T##gemv_v2##W(cublasHandle_t, cublasOperation_t, INT m, INT n, const type* alpha,   \
                                       const type* A, INT lda, const type* x, INT incx, const type* beta,    \
                                       type* y, INT incy);                                                   \
  cublasStatus_t cublas##T##gemvBatched##W(                                                                  \
      cublasHandle_t, cublasOperation_t, INT m, INT n, const type* alpha, const type* const A[], INT lda,    \
      const type* const x[], INT incx, const type* beta, type* const y[], INT incy, INT batches);            \
  cublasStatus_t cublas##T##gemvStridedBatched##W(                                                           \
      cublasHandle_t, cublasOperation_t, INT m, INT n, const type* alpha, const type* A, INT lda,            \
      long long int strideA, const type* x, INT incx, long long int stridex, const type* beta, type* y,      \
      INT incy, long long int stridey, INT batches);                                                         \
  cublasStatus_t cublas##T##symv_v2##W(cublasHandle_t, cublasFillMode_t, INT n, const type* alpha,           \
                                       const type* A, INT lda, const type* x, INT incx, const type* beta,    \
                                       type* y, INT incy);                                                   \
  cublasStatus_t cublas##T##trmv_v2##W(cublasHandle_t, cublasFillMode_t, cublasOperation_t,                  \
                                       cublasDiagType_t, INT n, const type* A, INT lda, type* x, INT incx);  \
  cublasStatus_t cublas##T##trsv_v2##W(cublasHandle_t, cublasFillMode_t, cublasOperation_t,                  \
                                       cublasDiagType_t, INT n, const type* A, INT lda, type* x, INT incx);  \
  cublasStatus_t cublas##T##symm_v2##W(cublasHandle_t, cublasSideMode_t, cublasFillMode_t, INT m, INT n,     \
                                       const type* alpha, const type* A, INT lda, const type* B, INT ldb,    \
                                       const type* beta, type* C, INT ldc);                                  \
  cublasStatus_t cublas##T##syrk_v2##W(cublasHandle_t, cublasFillMode_t, cublasOperation_t, INT n, INT k,    \
                                       const type* alpha, const type* A, INT lda, const type* beta, type* C, \
                                       INT ldc);                                                             \
  cublasStatus_t cublas##T##syrkx##W(cublasHandle_t, cublasFillMode_t, cublasOperation_t, INT n, INT k,      \
                                     const type* alpha, const type* A, INT lda, const type* B, INT ldb,      \
                                     const type* beta, type* C, INT ldc);                                    \
  cublasStatus_t cublas##T##trmm_v2##W(cublasHandle_t, cublasSideMode_t, cublasFillMode_t,                   \
                                       cublasOperation_t, cublasDiagType_t, INT m, INT n, const type* alpha, \
                                       const type* A, INT lda, const type* B, INT ldb, type* C, INT ldc);    \
  cublasStatus_t cublas##T##trsm_v2##W(cublasHandle_t, cublasSideMode_t, cublasFillMode_t,                   \
                                       cublasOperation_t, cublasDiagType_t, INT m, INT n, const type* alpha, \
                                       const type* A, INT lda, type* B, INT ldb);                            \
  cublasStatus_t cublas##T##trsmBatched##W(                                                                  \
      cublasHandle_t, cublasSideMode_t, cublasFillMode_t, cublasOperation_t, cublasDiagType_t, INT m, INT n, \
      const type* alpha, const type* const A[], INT lda, type* const B[], INT ldb, INT batches);             \
  cublasStatus_t cublas##T##geam##W(cublasHandle_t, cublasOperation_t, cublasOperation_t, INT m, INT n,      \
                                    const type* alpha, const type* A, INT lda, const type* beta,             \
                                    const type* B, INT ldb, type* C, INT ldc);                               \
  cublasStatus_t cublas##T##dgmm##W(cublasHandle_t, cublasSideMode_t, INT m, INT n, const type* A, INT lda,  \
                                    const type* x, INT incx, type* C, INT ldc);

#define CUBLAS_GEMM_OF_TYPE(name, T, type, INT, W)                                                      \
  cublasStatus_t cublas##T##name##W(cublasHandle_t, cublasOperation_t, cublasOperation_t, INT m, INT n, \
                                    INT k, const type* alpha, const type* A, INT lda, const type* B,    \
                                    INT ldb, const type* beta, type* C, INT ldc);
#define CUBLAS_GEMMS_OF_TYPE(T, type, INT, W)                                                               \
  cublasStatus_t cublas##T##gemmBatched##W(cublasHandle_t, cublasOperation_t, cublasOperation_t, INT m,     \
                                           INT n, INT k, const type* alpha, const type* const A[], INT lda, \
                                           const type* const B[], INT ldb, const type* beta,                \
                                           type* const C[], INT ldc, INT batches);                          \
  cublasStatus_t cublas##T##gemmStridedBatched##W(                                                          \
      cublasHandle_t, cublasOperation_t, cublasOperation_t, INT m, INT n, INT k, const type* alpha,         \
      const type* A, INT lda, long long int strideA, const type* B, INT ldb, long long int strideB,         \
      const type* beta, type* C, INT ldc, long long int strideC, INT batches);

/* Names that carry the types of the vector and of the result. */
#define CUBLAS_DOT(name, type, conjugated, INT, W)                                                   \
  cublasStatus_t cublas##name##_v2##W(cublasHandle_t, INT n, const type* x, INT incx, const type* y, \
                                      INT incy, type* result);
#define CUBLAS_REDUCTION(name, type, real, INT, W) \
  cublasStatus_t cublas##name##_v2##W(cublasHandle_t, INT n, const type* x, INT incx, real* result);
#define CUBLAS_INDEX(t, type, INT, W)             \
  CUBLAS_REDUCTION(I##t##amax, type, INT, INT, W) \
  CUBLAS_REDUCTION(I##t##amin, type, INT, INT, W)
#define CUBLAS_RANK_ONE(name, type, conjugated, INT, W)                                               \
  cublasStatus_t cublas##name##_v2##W(cublasHandle_t, INT m, INT n, const type* alpha, const type* x, \
                                      INT incx, const type* y, INT incy, type* A, INT lda);
#define CUBLAS_HERK(T, type, real, INT, W)                                                                   \
  cublasStatus_t cublas##T##herk_v2##W(cublasHandle_t, cublasFillMode_t, cublasOperation_t, INT n, INT k,    \
                                       const real* alpha, const type* A, INT lda, const real* beta, type* C, \
                                       INT ldc);
#define CUBLAS_SCAL_BY_REAL(name, type, real, INT, W) \
  cublasStatus_t cublas##name##_v2##W(cublasHandle_t, INT n, const real* alpha, type* x, INT incx);
#define CUBLAS_ROTATION(name, type, INT, W)                                                        \
  cublasStatus_t cublas##name##_v2##W(cublasHandle_t, INT n, type* x, INT incx, type* y, INT incy, \
                                      const type* c, const type* s);

#define CUBLAS_ALL_TYPES(X, INT, W) \
  X(S, float, INT, W) X(D, double, INT, W) X(C, cuComplex, INT, W) X(Z, cuDoubleComplex, INT, W)

/* Families that not every type has, or has under another name: X(name, …). */
#define CUBLAS_PLAIN_GEMMS(X, INT, W) \
  X(gemm_v2, S, float, INT, W)        \
  X(gemm_v2, D, double, INT, W)       \
  X(gemm_v2, C, cuComplex, INT, W)    \
  X(gemm_v2, Z, cuDoubleComplex, INT, W) X(gemm3m, C, cuComplex, INT, W) X(gemm3m, Z, cuDoubleComplex, INT, W)
#define CUBLAS_INDICES(X, INT, W) \
  X(s, float, INT, W) X(d, double, INT, W) X(c, cuComplex, INT, W) X(z, cuDoubleComplex, INT, W)
/* With whether the second vector is conjugated. */
#define CUBLAS_DOTS(X, INT, W)   \
  X(Sdot, float, 0, INT, W)      \
  X(Ddot, double, 0, INT, W)     \
  X(Cdotu, cuComplex, 0, INT, W) \
  X(Cdotc, cuComplex, 1, INT, W) X(Zdotu, cuDoubleComplex, 0, INT, W) X(Zdotc, cuDoubleComplex, 1, INT, W)
#define CUBLAS_RANK_ONES(X, INT, W) \
  X(Sger, float, 0, INT, W)         \
  X(Dger, double, 0, INT, W)        \
  X(Cgeru, cuComplex, 0, INT, W)    \
  X(Cgerc, cuComplex, 1, INT, W) X(Zgeru, cuDoubleComplex, 0, INT, W) X(Zgerc, cuDoubleComplex, 1, INT, W)
/* With the vector's type and the result's. */
#define CUBLAS_NORMS(X, INT, W)    \
  X(Snrm2, float, float, INT, W)   \
  X(Dnrm2, double, double, INT, W) \
  X(Scnrm2, cuComplex, float, INT, W) X(Dznrm2, cuDoubleComplex, double, INT, W)
#define CUBLAS_ABSOLUTE_SUMS(X, INT, W) \
  X(Sasum, float, float, INT, W)        \
  X(Dasum, double, double, INT, W)      \
  X(Scasum, cuComplex, float, INT, W) X(Dzasum, cuDoubleComplex, double, INT, W)

/* __half is a type of C++. */
#ifdef __cplusplus
#define CUBLAS_HALF_GEMMS(INT, W)         \
  CUBLAS_GEMMS_OF_TYPE(H, __half, INT, W) \
  CUBLAS_GEMM_OF_TYPE(gemm, H, __half, INT, W)
#else
#define CUBLAS_HALF_GEMMS(INT, W)
#endif

#define CUBLAS_WIDTH(INT, W)                                                                                 \
  CUBLAS_ALL_TYPES(CUBLAS_OF_TYPE, INT, W)                                                                   \
  CUBLAS_ALL_TYPES(CUBLAS_GEMMS_OF_TYPE, INT, W)                                                             \
  CUBLAS_HALF_GEMMS(INT, W)                                                                                  \
  CUBLAS_PLAIN_GEMMS(CUBLAS_GEMM_OF_TYPE, INT, W)                                                            \
  CUBLAS_INDICES(CUBLAS_INDEX, INT, W)                                                                       \
  CUBLAS_DOTS(CUBLAS_DOT, INT, W)                                                                            \
  CUBLAS_NORMS(CUBLAS_REDUCTION, INT, W)                                                                     \
  CUBLAS_ABSOLUTE_SUMS(CUBLAS_REDUCTION, INT, W)                                                             \
  CUBLAS_RANK_ONES(CUBLAS_RANK_ONE, INT, W)                                                                  \
  CUBLAS_HERK(C, cuComplex, float, INT, W)                                                                   \
  CUBLAS_HERK(Z, cuDoubleComplex, double, INT, W)                                                            \
  CUBLAS_SCAL_BY_REAL(Csscal, cuComplex, float, INT, W)                                                      \
  CUBLAS_SCAL_BY_REAL(Zdscal, cuDoubleComplex, double, INT, W)                                               \
  CUBLAS_ROTATION(Srot, float, INT, W)                                                                       \
  CUBLAS_ROTATION(Drot, double, INT, W)                                                                      \
  cublasStatus_t cublasAxpyEx##W(cublasHandle_t, INT n, const void* alpha, cudaDataType alphaType,           \
                                 const void* x, cudaDataType xType, INT incx, void* y, cudaDataType yType,   \
                                 INT incy, cudaDataType executionType);                                      \
  cublasStatus_t cublasDotEx##W(cublasHandle_t, INT n, const void* x, cudaDataType xType, INT incx,          \
                                const void* y, cudaDataType yType, INT incy, void* result,                   \
                                cudaDataType resultType, cudaDataType executionType);                        \
  cublasStatus_t cublasDotcEx##W(cublasHandle_t, INT n, const void* x, cudaDataType xType, INT incx,         \
                                 const void* y, cudaDataType yType, INT incy, void* result,                  \
                                 cudaDataType resultType, cudaDataType executionType);                       \
  cublasStatus_t cublasNrm2Ex##W(cublasHandle_t, INT n, const void* x, cudaDataType xType, INT incx,         \
                                 void* result, cudaDataType resultType, cudaDataType executionType);         \
  cublasStatus_t cublasScalEx##W(cublasHandle_t, INT n, const void* alpha, cudaDataType alphaType, void* x,  \
                                 cudaDataType xType, INT incx, cudaDataType executionType);                  \
  cublasStatus_t cublasSgemmEx##W(cublasHandle_t, cublasOperation_t, cublasOperation_t, INT m, INT n, INT k, \
                                  const float* alpha, const void* A, cudaDataType Atype, INT lda,            \
                                  const void* B, cudaDataType Btype, INT ldb, const float* beta, void* C,    \
                                  cudaDataType Ctype, INT ldc);                                              \
  cublasStatus_t cublasGemmEx##W(cublasHandle_t, cublasOperation_t, cublasOperation_t, INT m, INT n, INT k,  \
                                 const void* alpha, const void* A, cudaDataType Atype, INT lda,              \
                                 const void* B, cudaDataType Btype, INT ldb, const void* beta, void* C,      \
                                 cudaDataType Ctype, INT ldc, cublasComputeType_t, cublasGemmAlgo_t);        \
  cublasStatus_t cublasGemmBatchedEx##W(cublasHandle_t, cublasOperation_t, cublasOperation_t, INT m, INT n,  \
                                        INT k, const void* alpha, const void* const A[], cudaDataType Atype, \
                                        INT lda, const void* const B[], cudaDataType Btype, INT ldb,         \
                                        const void* beta, void* const C[], cudaDataType Ctype, INT ldc,      \
                                        INT batches, cublasComputeType_t, cublasGemmAlgo_t);                 \
  cublasStatus_t cublasGemmStridedBatchedEx##W(                                                              \
      cublasHandle_t, cublasOperation_t, cublasOperation_t, INT m, INT n, INT k, const void* alpha,          \
      const void* A, cudaDataType Atype, INT lda, long long int strideA, const void* B, cudaDataType Btype,  \
      INT ldb, long long int strideB, const void* beta, void* C, cudaDataType Ctype, INT ldc,                \
      long long int strideC, INT batches, cublasComputeType_t, cublasGemmAlgo_t);                            \
  cublasStatus_t cublasSetVector##W(INT n, INT elemSize, const void* x, INT incx, void* y, INT incy);        \
  cublasStatus_t cublasGetVector##W(INT n, INT elemSize, const void* x, INT incx, void* y, INT incy);        \
  cublasStatus_t cublasSetVectorAsync##W(INT n, INT elemSize, const void* x, INT incx, void* y, INT incy,    \
                                         cudaStream_t stream);                                               \
  cublasStatus_t cublasGetVectorAsync##W(INT n, INT elemSize, const void* x, INT incx, void* y, INT incy,    \
                                         cudaStream_t stream);                                               \
  cublasStatus_t cublasSetMatrix##W(INT rows, INT cols, INT elemSize, const void* A, INT lda, void* B,       \
                                    INT ldb);                                                                \
  cublasStatus_t cublasGetMatrix##W(INT rows, INT cols, INT elemSize, const void* A, INT lda, void* B,       \
                                    INT ldb);                                                                \
  cublasStatus_t cublasSetMatrixAsync##W(INT rows, INT cols, INT elemSize, const void* A, INT lda, void* B,  \
                                         INT ldb, cudaStream_t stream);                                      \
  cublasStatus_t cublasGetMatrixAsync##W(INT rows, INT cols, INT elemSize, const void* A, INT lda, void* B,  \
                                         INT ldb, cudaStream_t stream);

CUBLAS_WIDTH(int, )
CUBLAS_WIDTH(int64_t, _64)

/* Batches of small systems of equations. */
#define CUBLAS_SOLVERS(S, T)                                                                                 \
  cublasStatus_t cublas##S##getrfBatched(cublasHandle_t, int n, T* const A[], int lda, int* pivots,          \
                                         int* info, int batches);                                            \
  cublasStatus_t cublas##S##getrsBatched(cublasHandle_t, cublasOperation_t, int n, int nrhs,                 \
                                         const T* const A[], int lda, const int* pivots, T* const B[],       \
                                         int ldb, int* info, int batches);                                   \
  cublasStatus_t cublas##S##getriBatched(cublasHandle_t, int n, const T* const A[], int lda,                 \
                                         const int* pivots, T* const C[], int ldc, int* info, int batches);  \
  cublasStatus_t cublas##S##matinvBatched(cublasHandle_t, int n, const T* const A[], int lda, T* const C[],  \
                                          int ldc, int* info, int batches);                                  \
  cublasStatus_t cublas##S##gelsBatched(cublasHandle_t, cublasOperation_t, int m, int n, int nrhs,           \
                                        T* const A[], int lda, T* const C[], int ldc, int* info, int* infos, \
                                        int batches);
CUBLAS_SOLVERS(S, float)
CUBLAS_SOLVERS(D, double)
CUBLAS_SOLVERS(C, cuComplex)
CUBLAS_SOLVERS(Z, cuDoubleComplex)

/* Functions that only refuse, whatever their arguments. */
#ifdef __cplusplus
#define CUBLAS_ANY_ARGUMENTS ...
#else
#define CUBLAS_ANY_ARGUMENTS
#endif
#define CUBLAS_LACKING(name)                         \
  cublasStatus_t cublas##name(CUBLAS_ANY_ARGUMENTS); \
  cublasStatus_t cublas##name##_64(CUBLAS_ANY_ARGUMENTS);
#include "cublas_lacking.def"
#undef CUBLAS_LACKING
#undef CUBLAS_ANY_ARGUMENTS

#ifdef __cplusplus
}

/* Programs from before CUDA 11 name the type of the accumulators by a data type. */
static inline cublasComputeType_t cublasComputeTypeOf(cudaDataType type) {
  switch (type) {
    case CUDA_R_16F:
      return CUBLAS_COMPUTE_16F;
    case CUDA_R_64F:
    case CUDA_C_64F:
      return CUBLAS_COMPUTE_64F;
    case CUDA_R_32I:
      return CUBLAS_COMPUTE_32I;
    default:
      return CUBLAS_COMPUTE_32F;
  }
}
static inline cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                                          cublasOperation_t transb, int m, int n, int k, const void* alpha,
                                          const void* A, cudaDataType Atype, int lda, const void* B,
                                          cudaDataType Btype, int ldb, const void* beta, void* C,
                                          cudaDataType Ctype, int ldc, cudaDataType compute,
                                          cublasGemmAlgo_t algo) {
  return cublasGemmEx(handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype,
                      ldc, cublasComputeTypeOf(compute), algo);
}
static inline cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t transa,
                                                 cublasOperation_t transb, int m, int n, int k,
                                                 const void* alpha, const void* const A[], cudaDataType Atype,
                                                 int lda, const void* const B[], cudaDataType Btype, int ldb,
                                                 const void* beta, void* const C[], cudaDataType Ctype,
                                                 int ldc, int batches, cudaDataType compute,
                                                 cublasGemmAlgo_t algo) {
  return cublasGemmBatchedEx(handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C,
                             Ctype, ldc, batches, cublasComputeTypeOf(compute), algo);
}
static inline cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
    const void* alpha, const void* A, cudaDataType Atype, int lda, long long int strideA, const void* B,
    cudaDataType Btype, int ldb, long long int strideB, const void* beta, void* C, cudaDataType Ctype,
    int ldc, long long int strideC, int batches, cudaDataType compute, cublasGemmAlgo_t algo) {
  return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, A, Atype, lda, strideA, B, Btype,
                                    ldb, strideB, beta, C, Ctype, ldc, strideC, batches,
                                    cublasComputeTypeOf(compute), algo);
}
#endif

/* The names that programs use for the functions of this version of the API. */
#include "cublas_names.h"

#endif
