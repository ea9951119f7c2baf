// What every function of the drop-in cuBLAS is made of: views of its operands, one request to the engine.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>
#include <exception>
#include <initializer_list>

#include "../../include/cublas_v2.h"
#include "api.h"
#include "protocol_blas.h"

struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_HOST;
  cublasAtomicsMode_t atomics = CUBLAS_ATOMICS_NOT_ALLOWED;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  int sm_count = 0;
};

namespace vgpu::blas {

using wire::Blas;
using wire::BlasMatrix;
using wire::BlasOp;

using Handle = const cublasContext&;

struct Scalars {
  const void *alpha, *beta;
};

// The data type of a C++ type.
template <class T>
constexpr cudaDataType kType = CUDA_R_32F;
template <>
inline constexpr cudaDataType kType<double> = CUDA_R_64F;
template <>
inline constexpr cudaDataType kType<__half> = CUDA_R_16F;
template <>
inline constexpr cudaDataType kType<cuComplex> = CUDA_C_32F;
template <>
inline constexpr cudaDataType kType<cuDoubleComplex> = CUDA_C_64F;
template <>
inline constexpr cudaDataType kType<int> = CUDA_R_32I;
template <>
inline constexpr cudaDataType kType<int64_t> = CUDA_R_64I;

bool is_known(cudaDataType type);
int64_t bytes_of(cudaDataType type);
// What sums of this type are kept in.
cudaDataType accumulator_of(cudaDataType type);

// A column-major matrix as op(A) sees it.
BlasMatrix matrix(const void* data, cudaDataType type, int64_t ld, cublasOperation_t op = CUBLAS_OP_N);
// n elements as a column. A negative increment begins at the other end.
BlasMatrix vector(const void* data, cudaDataType type, int64_t n, int64_t increment);
BlasMatrix transposed(BlasMatrix matrix);
BlasMatrix conjugated(BlasMatrix matrix);
// One triangle of a matrix, and what the other one holds (a flag of wire::BlasShape, or 0: nothing).
BlasMatrix triangle(BlasMatrix matrix, cublasFillMode_t fill, cublasOperation_t op, uint32_t other);
// Batches: at a distance, or each at an address of an array in device memory.
BlasMatrix strided(BlasMatrix matrix, int64_t stride);
BlasMatrix pointers(BlasMatrix matrix);

// The sizes that a call gives: `ld` is at least `rows`, and nothing is negative.
bool is_leading(int64_t ld, int64_t rows);
bool are_sizes(std::initializer_list<int64_t> sizes);
bool is_operation(cublasOperation_t op);

class Call {
 public:
  Call(const char* function, const cublasContext& handle, BlasOp op, cudaDataType type);
  Call& sizes(int64_t m, int64_t n, int64_t k = 0, int64_t batches = 1);
  Call& operands(const BlasMatrix& a, const BlasMatrix& b = {}, const BlasMatrix& c = {});
  // Scalars where the handle says that they lie.
  Call& alpha(const void* value) { return scalar(value, &message_.alpha); }
  Call& beta(const void* value) { return scalar(value, &message_.beta); }
  Call& alpha_is(double value);
  Call& beta_is(double value);
  Call& scale_type(cudaDataType type);
  Call& compute(cudaDataType type);
  // Flags of wire::BlasEpilogue, and what they use.
  Call& epilogue(uint32_t what, const BlasMatrix& bias, const BlasMatrix& aux);
  cublasStatus_t send();
  // For operations whose result is one number.
  cublasStatus_t send(void* result, cudaDataType type);

 private:
  Call& scalar(const void* value, wire::BlasScalar* to);
  const cublasContext& handle_;
  Blas message_{};
  bool lacks_scalar_ = false;
};

cublasStatus_t status_of(cudaError_t error);
// A call that lets no exception out, and whose line findings name.
template <class Body>
cublasStatus_t guarded(const void* caller, Body&& body) {
  const ApiCall call(caller);
  try {
    return body();
  } catch (const std::exception&) {
    return CUBLAS_STATUS_ALLOC_FAILED;
  }
}

}  // namespace vgpu::blas

#define VGPU_CUBLAS extern "C" __attribute__((visibility("default"))) cublasStatus_t

// VGPU_BLAS(cublasSaxpy_v2, (cublasHandle_t handle, …), body): `body` may use handle, and is an expression.
#define VGPU_BLAS(name, params, ...)                                                                      \
  VGPU_CUBLAS name params {                                                                               \
    constexpr const char* function = #name;                                                               \
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;                                          \
    return vgpu::blas::guarded(__builtin_return_address(0), [&] { return (void)function, __VA_ARGS__; }); \
  }
