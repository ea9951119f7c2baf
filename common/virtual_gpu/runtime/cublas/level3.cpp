// Matrices: cuBLAS level 3 and its extensions.
#include "cublas/product.h"

namespace vgpu::blas {
namespace {

// Which types of A and B, of C and of the scalars go with which accumulators.
struct Combination {
  cudaDataType accumulator, scale, ab, c;
};
constexpr Combination kCombinations[] = {
    {CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F},  {CUDA_R_32I, CUDA_R_32I, CUDA_R_8I, CUDA_R_32I},
    {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},  {CUDA_R_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F},
    {CUDA_R_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_32F},  {CUDA_R_32F, CUDA_R_32F, CUDA_R_16BF, CUDA_R_16BF},
    {CUDA_R_32F, CUDA_R_32F, CUDA_R_16BF, CUDA_R_32F}, {CUDA_R_32F, CUDA_R_32F, CUDA_R_8I, CUDA_R_32F},
    {CUDA_R_32F, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F},  {CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F},
    {CUDA_R_64F, CUDA_C_64F, CUDA_C_64F, CUDA_C_64F},
};

// The accumulators' type, real; CUDA_R_8U for a number that is no cublasComputeType_t.
cudaDataType type_of(cublasComputeType_t compute) {
  switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return CUDA_R_16F;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      return CUDA_R_64F;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return CUDA_R_32I;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
    case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
      return CUDA_R_32F;
    default:
      return CUDA_R_8U;
  }
}

const Combination* find(cudaDataType accumulator, const Product& product) {
  for (const Combination& row : kCombinations)
    if (row.accumulator == accumulator && row.ab == product.a.type && row.ab == product.b.type &&
        row.c == product.c.type)
      return &row;
  return nullptr;
}

BlasMatrix view(const Operand& operand, cublasOperation_t op, bool by_pointers) {
  const BlasMatrix one = strided(matrix(operand.data, operand.type, operand.ld, op), operand.stride);
  return by_pointers ? pointers(one) : one;
}

// Products of bytes are made of words of four.
bool in_whole_words(const Operand& operand) {
  return operand.ld % 4 == 0 && reinterpret_cast<uintptr_t>(operand.data) % 4 == 0;
}

}  // namespace

cublasStatus_t gemm(const char* function, Handle handle, const Product& p, cublasComputeType_t compute) {
  if (!is_operation(p.op_a) || !is_operation(p.op_b) || !are_sizes({p.m, p.n, p.k, p.batches}))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!is_leading(p.a.ld, p.op_a == CUBLAS_OP_N ? p.m : p.k) ||
      !is_leading(p.b.ld, p.op_b == CUBLAS_OP_N ? p.k : p.n) || !is_leading(p.c.ld, p.m))
    return CUBLAS_STATUS_INVALID_VALUE;
  const Combination* types = find(type_of(compute), p);
  if (types == nullptr) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (types->scale == CUDA_R_32I && !(in_whole_words(p.a) && in_whole_words(p.b)))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool keeps_floats = types->scale != CUDA_R_32I;
  return Call(function, handle, BlasOp::kMultiply, types->scale)
      .compute(keeps_floats ? accumulator_of(types->scale) : CUDA_R_32I)
      .sizes(p.m, p.n, p.k, p.batches)
      .operands(view(p.a, p.op_a, p.by_pointers), view(p.b, p.op_b, p.by_pointers),
                view(p.c, CUBLAS_OP_N, p.by_pointers))
      .epilogue(p.epilogue.what, p.epilogue.bias, p.epilogue.aux)
      .alpha(p.alpha)
      .beta(p.beta)
      .send();
}

namespace {

Product product(cublasOperation_t op_a, cublasOperation_t op_b, int64_t m, int64_t n, int64_t k,
                const void* alpha, const void* beta, const Operand& a, const Operand& b, const Operand& c,
                int64_t batches = 1, bool by_pointers = false) {
  return {op_a, op_b, m, n, k, alpha, beta, a, b, c, batches, by_pointers};
}

template <class T>
constexpr cublasComputeType_t kCompute = CUBLAS_COMPUTE_32F;
template <>
inline constexpr cublasComputeType_t kCompute<double> = CUBLAS_COMPUTE_64F;
template <>
inline constexpr cublasComputeType_t kCompute<cuDoubleComplex> = CUBLAS_COMPUTE_64F;
template <>
inline constexpr cublasComputeType_t kCompute<__half> = CUBLAS_COMPUTE_16F;

// C = alpha A B + beta C, where A is symmetric and stands on one side.
cublasStatus_t symm(const char* function, Handle handle, cudaDataType type, cublasSideMode_t side,
                    cublasFillMode_t fill, int64_t m, int64_t n, const Scalars& by, const void* a,
                    int64_t lda, const void* b, int64_t ldb, void* c, int64_t ldc) {
  const bool is_left = side == CUBLAS_SIDE_LEFT;
  if (!are_sizes({m, n}) || !is_leading(lda, is_left ? m : n) || !is_leading(ldb, m) || !is_leading(ldc, m))
    return CUBLAS_STATUS_INVALID_VALUE;
  const BlasMatrix square = triangle(matrix(a, type, lda), fill, CUBLAS_OP_N, wire::kSymmetric);
  const BlasMatrix other = matrix(b, type, ldb);
  return Call(function, handle, BlasOp::kMultiply, type)
      .sizes(m, n, is_left ? m : n)
      .operands(is_left ? square : other, is_left ? other : square, matrix(c, type, ldc))
      .alpha(by.alpha)
      .beta(by.beta)
      .send();
}

// One triangle of C = alpha op(A) op(B)' + beta C.
cublasStatus_t syrk(const char* function, Handle handle, cudaDataType type, cudaDataType scale,
                    cublasFillMode_t fill, cublasOperation_t op, int64_t n, int64_t k, const Scalars& by,
                    const void* a, int64_t lda, const void* b, int64_t ldb, void* c, int64_t ldc,
                    bool hermitian) {
  const int64_t rows = op == CUBLAS_OP_N ? n : k;
  if (!is_operation(op) || !are_sizes({n, k}) || !is_leading(lda, rows) || !is_leading(ldb, rows) ||
      !is_leading(ldc, n))
    return CUBLAS_STATUS_INVALID_VALUE;
  const cublasOperation_t plain = op == CUBLAS_OP_N ? CUBLAS_OP_N : CUBLAS_OP_T;
  const cublasOperation_t other = op == CUBLAS_OP_N ? CUBLAS_OP_T : CUBLAS_OP_N;
  BlasMatrix left = matrix(a, type, lda, plain), right = matrix(b, type, ldb, other);
  if (hermitian) (op == CUBLAS_OP_N ? right : left).shape ^= wire::kConjugated;
  return Call(function, handle, BlasOp::kMultiply, type)
      .scale_type(scale)
      .sizes(n, n, k)
      .operands(left, right,
                triangle(matrix(c, type, ldc), fill, CUBLAS_OP_N, hermitian ? uint32_t{wire::kHermitian} : 0))
      .alpha(by.alpha)
      .beta(by.beta)
      .send();
}

struct Triangle {
  cublasSideMode_t side;
  cublasFillMode_t fill;
  cublasOperation_t op;
  cublasDiagType_t diag;
};

bool are_valid(const Triangle& t, int64_t m, int64_t n, int64_t lda, int64_t ldb) {
  return is_operation(t.op) && are_sizes({m, n}) && is_leading(lda, t.side == CUBLAS_SIDE_LEFT ? m : n) &&
         is_leading(ldb, m);
}

BlasMatrix triangle_of(const Triangle& t, const void* a, cudaDataType type, int64_t lda,
                       cublasOperation_t op) {
  const uint32_t unit = t.diag == CUBLAS_DIAG_UNIT ? uint32_t{wire::kUnitDiagonal} : 0;
  return triangle(matrix(a, type, lda, op), t.fill, op, wire::kTriangular | unit);
}

cublasStatus_t trmm(const char* function, Handle handle, cudaDataType type, const Triangle& t, int64_t m,
                    int64_t n, const void* alpha, const void* a, int64_t lda, const void* b, int64_t ldb,
                    void* c, int64_t ldc) {
  if (!are_valid(t, m, n, lda, ldb) || !is_leading(ldc, m)) return CUBLAS_STATUS_INVALID_VALUE;
  const bool is_left = t.side == CUBLAS_SIDE_LEFT;
  const BlasMatrix square = triangle_of(t, a, type, lda, t.op), other = matrix(b, type, ldb);
  return Call(function, handle, BlasOp::kMultiply, type)
      .sizes(m, n, is_left ? m : n)
      .operands(is_left ? square : other, is_left ? other : square, matrix(c, type, ldc))
      .alpha(alpha)
      .send();
}

// X op(A) = alpha B is op(A)' X' = alpha B'.
cublasStatus_t trsm(const char* function, Handle handle, cudaDataType type, const Triangle& t, int64_t m,
                    int64_t n, const void* alpha, const void* a, int64_t lda, void* b, int64_t ldb,
                    int64_t batches, bool by_pointers) {
  if (!are_valid(t, m, n, lda, ldb) || batches < 0) return CUBLAS_STATUS_INVALID_VALUE;
  const bool is_left = t.side == CUBLAS_SIDE_LEFT;
  BlasMatrix square = triangle_of(t, a, type, lda, t.op), other = matrix(b, type, ldb);
  if (!is_left) {
    const bool conjugate = t.op == CUBLAS_OP_C;
    square = triangle_of(t, a, type, lda, t.op == CUBLAS_OP_N ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (conjugate) square = conjugated(square);
    other = transposed(other);
  }
  if (by_pointers) {
    square = pointers(square);
    other = pointers(other);
  }
  return Call(function, handle, BlasOp::kSolve, type)
      .sizes(is_left ? m : n, is_left ? n : m, 0, batches)
      .operands(square, other)
      .alpha(alpha)
      .send();
}

cublasStatus_t geam(const char* function, Handle handle, cudaDataType type, cublasOperation_t op_a,
                    cublasOperation_t op_b, int64_t m, int64_t n, const Scalars& by, const void* a,
                    int64_t lda, const void* b, int64_t ldb, void* c, int64_t ldc) {
  if (!is_operation(op_a) || !is_operation(op_b) || !are_sizes({m, n}) || !is_leading(ldc, m) ||
      !is_leading(lda, op_a == CUBLAS_OP_N ? m : n) || !is_leading(ldb, op_b == CUBLAS_OP_N ? m : n))
    return CUBLAS_STATUS_INVALID_VALUE;
  return Call(function, handle, BlasOp::kCombine, type)
      .sizes(m, n)
      .operands(matrix(a, type, lda, op_a), matrix(b, type, ldb, op_b), matrix(c, type, ldc))
      .alpha(by.alpha)
      .beta(by.beta)
      .send();
}

// Rows, or columns, times the elements of a vector.
cublasStatus_t dgmm(const char* function, Handle handle, cudaDataType type, cublasSideMode_t side, int64_t m,
                    int64_t n, const void* a, int64_t lda, const void* x, int64_t incx, void* c,
                    int64_t ldc) {
  if (!are_sizes({m, n}) || !is_leading(lda, m) || !is_leading(ldc, m)) return CUBLAS_STATUS_INVALID_VALUE;
  const bool is_left = side == CUBLAS_SIDE_LEFT;
  const BlasMatrix factors = vector(x, type, is_left ? m : n, incx);
  return Call(function, handle, BlasOp::kProduct, type)
      .sizes(m, n)
      .operands(matrix(a, type, lda), is_left ? factors : transposed(factors), matrix(c, type, ldc))
      .send();
}

}  // namespace
}  // namespace vgpu::blas

using namespace vgpu::blas;

// What the forms of GEMM have in common: their first parameters, and the product that they ask for.
#define SHAPE(INT) cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, INT m, INT n, INT k
#define GEMM(compute, ...) \
  gemm(function, *handle, product(op_a, op_b, m, n, k, alpha, beta, __VA_ARGS__), compute)

#define GEMM_OF_TYPE(name, T, type, INT, W)                                                 \
  VGPU_BLAS(cublas##T##name##W,                                                             \
            (SHAPE(INT), const type* alpha, const type* a, INT lda, const type* b, INT ldb, \
             const type* beta, type* c, INT ldc),                                           \
            GEMM(kCompute<type>, {a, kType<type>, lda}, {b, kType<type>, ldb}, {c, kType<type>, ldc}))
#define GEMMS_OF_TYPE(T, type, INT, W)                                                                      \
  VGPU_BLAS(cublas##T##gemmBatched##W,                                                                      \
            (SHAPE(INT), const type* alpha, const type* const a[], INT lda, const type* const b[], INT ldb, \
             const type* beta, type* const c[], INT ldc, INT batches),                                      \
            GEMM(kCompute<type>, {a, kType<type>, lda}, {b, kType<type>, ldb}, {c, kType<type>, ldc},       \
                 batches, true))                                                                            \
  VGPU_BLAS(                                                                                                \
      cublas##T##gemmStridedBatched##W,                                                                     \
      (SHAPE(INT), const type* alpha, const type* a, INT lda, long long stride_a, const type* b, INT ldb,   \
       long long stride_b, const type* beta, type* c, INT ldc, long long stride_c, INT batches),            \
      GEMM(kCompute<type>, {a, kType<type>, lda, stride_a}, {b, kType<type>, ldb, stride_b},                \
           {c, kType<type>, ldc, stride_c}, batches))
#define LEVEL_3_OF_TYPE(T, type, INT, W)                                                                     \
  VGPU_BLAS(                                                                                                 \
      cublas##T##symm_v2##W,                                                                                 \
      (cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill, INT m, INT n, const type* alpha, \
       const type* a, INT lda, const type* b, INT ldb, const type* beta, type* c, INT ldc),                  \
      symm(function, *handle, kType<type>, side, fill, m, n, {alpha, beta}, a, lda, b, ldb, c, ldc))         \
  VGPU_BLAS(cublas##T##syrk_v2##W,                                                                           \
            (cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t op, INT n, INT k,               \
             const type* alpha, const type* a, INT lda, const type* beta, type* c, INT ldc),                 \
            syrk(function, *handle, kType<type>, kType<type>, fill, op, n, k, {alpha, beta}, a, lda, a, lda, \
                 c, ldc, false))                                                                             \
  VGPU_BLAS(                                                                                                 \
      cublas##T##syrkx##W,                                                                                   \
      (cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t op, INT n, INT k, const type* alpha,  \
       const type* a, INT lda, const type* b, INT ldb, const type* beta, type* c, INT ldc),                  \
      syrk(function, *handle, kType<type>, kType<type>, fill, op, n, k, {alpha, beta}, a, lda, b, ldb, c,    \
           ldc, false))                                                                                      \
  VGPU_BLAS(                                                                                                 \
      cublas##T##trmm_v2##W,                                                                                 \
      (cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill, cublasOperation_t op,            \
       cublasDiagType_t diag, INT m, INT n, const type* alpha, const type* a, INT lda, const type* b,        \
       INT ldb, type* c, INT ldc),                                                                           \
      trmm(function, *handle, kType<type>, {side, fill, op, diag}, m, n, alpha, a, lda, b, ldb, c, ldc))     \
  VGPU_BLAS(                                                                                                 \
      cublas##T##trsm_v2##W,                                                                                 \
      (cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill, cublasOperation_t op,            \
       cublasDiagType_t diag, INT m, INT n, const type* alpha, const type* a, INT lda, type* b, INT ldb),    \
      trsm(function, *handle, kType<type>, {side, fill, op, diag}, m, n, alpha, a, lda, b, ldb, 1, false))   \
  VGPU_BLAS(cublas##T##trsmBatched##W,                                                                       \
            (cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill, cublasOperation_t op,      \
             cublasDiagType_t diag, INT m, INT n, const type* alpha, const type* const a[], INT lda,         \
             type* const b[], INT ldb, INT batches),                                                         \
            trsm(function, *handle, kType<type>, {side, fill, op, diag}, m, n, alpha, a, lda,                \
                 const_cast<type**>(b), ldb, batches, true))                                                 \
  VGPU_BLAS(cublas##T##geam##W,                                                                              \
            (cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, INT m, INT n,            \
             const type* alpha, const type* a, INT lda, const type* beta, const type* b, INT ldb, type* c,   \
             INT ldc),                                                                                       \
            geam(function, *handle, kType<type>, op_a, op_b, m, n, {alpha, beta}, a, lda, b, ldb, c, ldc))   \
  VGPU_BLAS(cublas##T##dgmm##W,                                                                              \
            (cublasHandle_t handle, cublasSideMode_t side, INT m, INT n, const type* a, INT lda,             \
             const type* x, INT incx, type* c, INT ldc),                                                     \
            dgmm(function, *handle, kType<type>, side, m, n, a, lda, x, incx, c, ldc))
#define HERK(T, type, real, INT, W)                                                                          \
  VGPU_BLAS(cublas##T##herk_v2##W,                                                                           \
            (cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t op, INT n, INT k,               \
             const real* alpha, const type* a, INT lda, const real* beta, type* c, INT ldc),                 \
            syrk(function, *handle, kType<type>, kType<real>, fill, op, n, k, {alpha, beta}, a, lda, a, lda, \
                 c, ldc, true))
#define LEVEL_3(INT, W)                                                                                      \
  CUBLAS_ALL_TYPES(LEVEL_3_OF_TYPE, INT, W)                                                                  \
  CUBLAS_ALL_TYPES(GEMMS_OF_TYPE, INT, W)                                                                    \
  GEMMS_OF_TYPE(H, __half, INT, W)                                                                           \
  CUBLAS_PLAIN_GEMMS(GEMM_OF_TYPE, INT, W)                                                                   \
  GEMM_OF_TYPE(gemm, H, __half, INT, W)                                                                      \
  HERK(C, cuComplex, float, INT, W)                                                                          \
  HERK(Z, cuDoubleComplex, double, INT, W)                                                                   \
  VGPU_BLAS(cublasSgemmEx##W,                                                                                \
            (SHAPE(INT), const float* alpha, const void* a, cudaDataType a_type, INT lda, const void* b,     \
             cudaDataType b_type, INT ldb, const float* beta, void* c, cudaDataType c_type, INT ldc),        \
            GEMM(CUBLAS_COMPUTE_32F, {a, a_type, lda}, {b, b_type, ldb}, {c, c_type, ldc}))                  \
  VGPU_BLAS(cublasGemmEx##W,                                                                                 \
            (SHAPE(INT), const void* alpha, const void* a, cudaDataType a_type, INT lda, const void* b,      \
             cudaDataType b_type, INT ldb, const void* beta, void* c, cudaDataType c_type, INT ldc,          \
             cublasComputeType_t compute, cublasGemmAlgo_t),                                                 \
            GEMM(compute, {a, a_type, lda}, {b, b_type, ldb}, {c, c_type, ldc}))                             \
  VGPU_BLAS(cublasGemmBatchedEx##W,                                                                          \
            (SHAPE(INT), const void* alpha, const void* const a[], cudaDataType a_type, INT lda,             \
             const void* const b[], cudaDataType b_type, INT ldb, const void* beta, void* const c[],         \
             cudaDataType c_type, INT ldc, INT batches, cublasComputeType_t compute, cublasGemmAlgo_t),      \
            GEMM(compute, {a, a_type, lda}, {b, b_type, ldb}, {c, c_type, ldc}, batches, true))              \
  VGPU_BLAS(cublasGemmStridedBatchedEx##W,                                                                   \
            (SHAPE(INT), const void* alpha, const void* a, cudaDataType a_type, INT lda, long long stride_a, \
             const void* b, cudaDataType b_type, INT ldb, long long stride_b, const void* beta, void* c,     \
             cudaDataType c_type, INT ldc, long long stride_c, INT batches, cublasComputeType_t compute,     \
             cublasGemmAlgo_t),                                                                              \
            GEMM(compute, {a, a_type, lda, stride_a}, {b, b_type, ldb, stride_b},                            \
                 {c, c_type, ldc, stride_c}, batches))

LEVEL_3(int, )
LEVEL_3(int64_t, _64)
