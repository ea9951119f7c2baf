// Handles of cuBLAS and their settings; names of statuses; copies of vectors and matrices.
#include <new>

#include "connection.h"
#include "cublas/call.h"
#include "errors.h"

namespace {

struct StatusText {
  cublasStatus_t status;
  const char *name, *text;
};

constexpr StatusText kStatusTexts[] = {
    {CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "success"},
    {CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"},
    {CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE",
     "an unsupported value or parameter was passed to the function"},
    {CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH",
     "the function requires a feature absent from the device architecture"},
    {CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR", "an access to GPU memory space failed"},
    {CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED", "the GPU program failed to execute"},
    {CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"},
    {CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED",
     "the functionality requested is not supported"},
    {CUBLAS_STATUS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR", "the license check failed"},
};

const StatusText* find_text(cublasStatus_t status) {
  for (const StatusText& row : kStatusTexts)
    if (row.status == status) return &row;
  return nullptr;
}

template <class Value>
cublasStatus_t give(cublasHandle_t handle, Value cublasContext::* member, Value* to) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (to == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *to = handle->*member;
  return CUBLAS_STATUS_SUCCESS;
}

template <class Value>
cublasStatus_t take(cublasHandle_t handle, Value cublasContext::* member, Value value) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->*member = value;
  return CUBLAS_STATUS_SUCCESS;
}

struct Rows {
  void* to;
  int64_t to_pitch;
  const void* from;
  int64_t from_pitch, width, height;
};

// Columns of a matrix, or elements of a vector. Copies without a stream are done when the call returns.
cublasStatus_t copy_rows(const Rows& rows, cudaMemcpyKind kind, const cudaStream_t* stream) {
  if (rows.width < 0 || rows.height < 0 || rows.to_pitch < rows.width || rows.from_pitch < rows.width)
    return CUBLAS_STATUS_INVALID_VALUE;
  const auto pitch = [](int64_t bytes) { return static_cast<size_t>(bytes); };
  const bool is_dense = rows.to_pitch == rows.width && rows.from_pitch == rows.width;
  const size_t width = pitch(is_dense ? rows.width * rows.height : rows.width);
  const size_t height = is_dense ? 1 : pitch(rows.height);
  const size_t to_pitch = is_dense ? width : pitch(rows.to_pitch);
  const size_t from_pitch = is_dense ? width : pitch(rows.from_pitch);
  const cudaError_t error =
      stream == nullptr
          ? cudaMemcpy2D(rows.to, to_pitch, rows.from, from_pitch, width, height, kind)
          : cudaMemcpy2DAsync(rows.to, to_pitch, rows.from, from_pitch, width, height, kind, *stream);
  if (error == cudaSuccess) return CUBLAS_STATUS_SUCCESS;
  return error == cudaErrorInvalidValue ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_MAPPING_ERROR;
}

}  // namespace

VGPU_CUBLAS cublasCreate_v2(cublasHandle_t* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = nullptr;
  if (vgpu::Connection::get().ready() != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new (std::nothrow) cublasContext;
  return *handle != nullptr ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

VGPU_CUBLAS cublasDestroy_v2(cublasHandle_t handle) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

VGPU_CUBLAS cublasGetVersion_v2(cublasHandle_t, int* version) {
  if (version == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}

VGPU_CUBLAS cublasGetProperty(libraryPropertyType type, int* value) {
  constexpr int kValues[] = {CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH};
  if (value == nullptr || type < MAJOR_VERSION || type > PATCH_LEVEL) return CUBLAS_STATUS_INVALID_VALUE;
  *value = kValues[type];
  return CUBLAS_STATUS_SUCCESS;
}

extern "C" __attribute__((visibility("default"))) size_t cublasGetCudartVersion() {
  return CUDART_VERSION;
}

// The engine needs none.
VGPU_CUBLAS cublasSetWorkspace_v2(cublasHandle_t handle, void*, size_t) {
  return handle != nullptr ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

VGPU_CUBLAS cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  return take(handle, &cublasContext::stream, stream);
}

VGPU_CUBLAS cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  return give(handle, &cublasContext::stream, stream);
}

VGPU_CUBLAS cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  if (mode != CUBLAS_POINTER_MODE_HOST && mode != CUBLAS_POINTER_MODE_DEVICE)
    return CUBLAS_STATUS_INVALID_VALUE;
  return take(handle, &cublasContext::pointers, mode);
}

VGPU_CUBLAS cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  return give(handle, &cublasContext::pointers, mode);
}

VGPU_CUBLAS cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode) {
  return take(handle, &cublasContext::atomics, mode);
}

VGPU_CUBLAS cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t* mode) {
  return give(handle, &cublasContext::atomics, mode);
}

VGPU_CUBLAS cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  return take(handle, &cublasContext::math, mode);
}

VGPU_CUBLAS cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  return give(handle, &cublasContext::math, mode);
}

VGPU_CUBLAS cublasSetSmCountTarget(cublasHandle_t handle, int count) {
  return take(handle, &cublasContext::sm_count, count);
}

VGPU_CUBLAS cublasGetSmCountTarget(cublasHandle_t handle, int* count) {
  return give(handle, &cublasContext::sm_count, count);
}

extern "C" __attribute__((visibility("default"))) const char* cublasGetStatusName(cublasStatus_t status) {
  const StatusText* row = find_text(status);
  return row != nullptr ? row->name : "<unknown>";
}

extern "C" __attribute__((visibility("default"))) const char* cublasGetStatusString(cublasStatus_t status) {
  const StatusText* row = find_text(status);
  return row != nullptr ? row->text : "<unknown>";
}

#define COPY_VECTOR(name, kind, INT, W)                                                                      \
  VGPU_CUBLAS cublas##name##Vector##W(INT n, INT size, const void* x, INT incx, void* y, INT incy) {         \
    const Rows rows{y, int64_t{incy} * size, x, int64_t{incx} * size, size, n};                              \
    return vgpu::blas::guarded(__builtin_return_address(0), [&] { return copy_rows(rows, kind, nullptr); }); \
  }                                                                                                          \
  VGPU_CUBLAS cublas##name##VectorAsync##W(INT n, INT size, const void* x, INT incx, void* y, INT incy,      \
                                           cudaStream_t stream) {                                            \
    const Rows rows{y, int64_t{incy} * size, x, int64_t{incx} * size, size, n};                              \
    return vgpu::blas::guarded(__builtin_return_address(0), [&] { return copy_rows(rows, kind, &stream); }); \
  }
#define COPY_MATRIX(name, kind, INT, W)                                                                      \
  VGPU_CUBLAS cublas##name##Matrix##W(INT m, INT n, INT size, const void* a, INT lda, void* b, INT ldb) {    \
    const Rows rows{b, int64_t{ldb} * size, a, int64_t{lda} * size, int64_t{m} * size, n};                   \
    return vgpu::blas::guarded(__builtin_return_address(0), [&] { return copy_rows(rows, kind, nullptr); }); \
  }                                                                                                          \
  VGPU_CUBLAS cublas##name##MatrixAsync##W(INT m, INT n, INT size, const void* a, INT lda, void* b, INT ldb, \
                                           cudaStream_t stream) {                                            \
    const Rows rows{b, int64_t{ldb} * size, a, int64_t{lda} * size, int64_t{m} * size, n};                   \
    return vgpu::blas::guarded(__builtin_return_address(0), [&] { return copy_rows(rows, kind, &stream); }); \
  }
#define COPIES(INT, W)                             \
  COPY_VECTOR(Set, cudaMemcpyHostToDevice, INT, W) \
  COPY_VECTOR(Get, cudaMemcpyDeviceToHost, INT, W) \
  COPY_MATRIX(Set, cudaMemcpyHostToDevice, INT, W) \
  COPY_MATRIX(Get, cudaMemcpyDeviceToHost, INT, W)
COPIES(int, )
COPIES(int64_t, _64)
