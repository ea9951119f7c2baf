#include "cublas/call.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "connection.h"
#include "streams.h"

namespace vgpu::blas {
namespace {

struct TypeRow {
  cudaDataType type;
  int bytes;
  cudaDataType accumulator;
};

constexpr TypeRow kTypes[] = {
    {CUDA_R_32F, 4, CUDA_R_32F},  {CUDA_R_64F, 8, CUDA_R_64F}, {CUDA_R_16F, 2, CUDA_R_32F},
    {CUDA_R_16BF, 2, CUDA_R_32F}, {CUDA_C_32F, 8, CUDA_C_32F}, {CUDA_C_64F, 16, CUDA_C_64F},
    {CUDA_R_8I, 1, CUDA_R_32I},   {CUDA_R_32I, 4, CUDA_R_32I}, {CUDA_R_64I, 8, CUDA_R_64F},
};

const TypeRow* find(cudaDataType type) {
  const auto* found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const TypeRow& row) { return row.type == type; });
  return found == std::end(kTypes) ? nullptr : found;
}

template <class T>
T read(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void write(void* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

void read_number(const void* from, cudaDataType type, double* re, double* im) {
  switch (type) {
    case CUDA_R_64F:
      *re = read<double>(from);
      return;
    case CUDA_C_32F:
      *re = read<cuComplex>(from).x;
      *im = read<cuComplex>(from).y;
      return;
    case CUDA_C_64F:
      *re = read<cuDoubleComplex>(from).x;
      *im = read<cuDoubleComplex>(from).y;
      return;
    case CUDA_R_16F:
      *re = __half2float(read<__half>(from));
      return;
    case CUDA_R_16BF:
      *re = __bfloat162float(read<__nv_bfloat16>(from));
      return;
    case CUDA_R_32I:
      *re = read<int32_t>(from);
      return;
    default:
      *re = read<float>(from);
  }
}

void write_number(void* to, cudaDataType type, const wire::BlasNumber& number) {
  switch (type) {
    case CUDA_R_64F:
      return write(to, number.re);
    case CUDA_C_32F:
      return write(to, make_cuComplex(static_cast<float>(number.re), static_cast<float>(number.im)));
    case CUDA_C_64F:
      return write(to, make_cuDoubleComplex(number.re, number.im));
    case CUDA_R_16F:
      return write(to, __float2half(static_cast<float>(number.re)));
    case CUDA_R_16BF:
      return write(to, __float2bfloat16(static_cast<float>(number.re)));
    case CUDA_R_32I:
      return write(to, static_cast<int32_t>(number.re));
    case CUDA_R_64I:
      return write(to, static_cast<int64_t>(number.re));
    default:
      return write(to, static_cast<float>(number.re));
  }
}

}  // namespace

bool is_known(cudaDataType type) {
  return find(type) != nullptr;
}

int64_t bytes_of(cudaDataType type) {
  return find(type)->bytes;
}

cudaDataType accumulator_of(cudaDataType type) {
  return find(type)->accumulator;
}

BlasMatrix matrix(const void* data, cudaDataType type, int64_t ld, cublasOperation_t op) {
  const BlasMatrix plain{reinterpret_cast<uint64_t>(data), 1, ld, 0, static_cast<uint32_t>(type), 0};
  if (op == CUBLAS_OP_N) return plain;
  return op == CUBLAS_OP_C ? conjugated(transposed(plain)) : transposed(plain);
}

BlasMatrix vector(const void* data, cudaDataType type, int64_t n, int64_t increment) {
  const auto address = reinterpret_cast<uint64_t>(data);
  const int64_t first = increment < 0 ? (1 - n) * increment * bytes_of(type) : 0;
  return {address + static_cast<uint64_t>(first), increment, 0, 0, static_cast<uint32_t>(type), 0};
}

BlasMatrix transposed(BlasMatrix matrix) {
  std::swap(matrix.row_stride, matrix.column_stride);
  return matrix;
}

BlasMatrix conjugated(BlasMatrix matrix) {
  matrix.shape ^= wire::kConjugated;
  return matrix;
}

BlasMatrix triangle(BlasMatrix matrix, cublasFillMode_t fill, cublasOperation_t op, uint32_t other) {
  const bool upper = (fill == CUBLAS_FILL_MODE_UPPER) == (op == CUBLAS_OP_N);
  matrix.shape |= (upper ? wire::kUpper : wire::kLower) | other;
  return matrix;
}

BlasMatrix strided(BlasMatrix matrix, int64_t stride) {
  matrix.batch_stride = stride;
  return matrix;
}

BlasMatrix pointers(BlasMatrix matrix) {
  matrix.shape |= wire::kPointers;
  return matrix;
}

bool is_leading(int64_t ld, int64_t rows) {
  return ld >= std::max<int64_t>(1, rows);
}

bool are_sizes(std::initializer_list<int64_t> sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [](int64_t size) { return size >= 0; });
}

bool is_operation(cublasOperation_t op) {
  return op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C;
}

Call::Call(const char* function, const cublasContext& handle, BlasOp op, cudaDataType type)
    : handle_(handle) {
  message_.op = op;
  message_.compute = static_cast<uint32_t>(accumulator_of(type));
  message_.scale_type = static_cast<uint32_t>(type);
  message_.stream = StreamChoice{NullStream::kLegacy}.on(handle.stream);
  // As the program's text has it.
  std::string name(function);
  if (const size_t version = name.find("_v2"); version != std::string::npos) name.erase(version, 3);
  name.copy(message_.function, sizeof message_.function - 1);
}

Call& Call::sizes(int64_t m, int64_t n, int64_t k, int64_t batches) {
  message_.m = m;
  message_.n = n;
  message_.k = k;
  message_.batches = batches;
  return *this;
}

Call& Call::operands(const BlasMatrix& a, const BlasMatrix& b, const BlasMatrix& c) {
  message_.a = a;
  message_.b = b;
  message_.c = c;
  return *this;
}

Call& Call::scale_type(cudaDataType type) {
  message_.scale_type = static_cast<uint32_t>(type);
  return *this;
}

Call& Call::compute(cudaDataType type) {
  message_.compute = static_cast<uint32_t>(type);
  return *this;
}

Call& Call::epilogue(uint32_t what, const BlasMatrix& bias, const BlasMatrix& aux) {
  message_.epilogue = what;
  message_.bias = bias;
  message_.aux = aux;
  return *this;
}

Call& Call::alpha_is(double value) {
  message_.alpha = {0, value, 0};
  return *this;
}

Call& Call::beta_is(double value) {
  message_.beta = {0, value, 0};
  return *this;
}

Call& Call::scalar(const void* value, wire::BlasScalar* to) {
  if (value == nullptr) {
    lacks_scalar_ = true;
  } else if (handle_.pointers == CUBLAS_POINTER_MODE_DEVICE) {
    to->address = reinterpret_cast<uint64_t>(value);
  } else {
    read_number(value, static_cast<cudaDataType>(message_.scale_type), &to->re, &to->im);
  }
  return *this;
}

cublasStatus_t status_of(cudaError_t error) {
  if (error == cudaSuccess) return CUBLAS_STATUS_SUCCESS;
  if (error == cudaErrorInvalidValue) return CUBLAS_STATUS_INVALID_VALUE;
  return error == cudaErrorMemoryAllocation ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_EXECUTION_FAILED;
}

cublasStatus_t Call::send() {
  if (lacks_scalar_) return CUBLAS_STATUS_INVALID_VALUE;
  if (message_.m == 0 || message_.n == 0 || message_.batches == 0) return CUBLAS_STATUS_SUCCESS;
  return status_of(Connection::get().ask(wire::Request::kBlas, message_));
}

cublasStatus_t Call::send(void* result, cudaDataType type) {
  if (result == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (handle_.pointers == CUBLAS_POINTER_MODE_DEVICE) {
    message_.c = vector(result, type, 1, 1);
    return status_of(Connection::get().ask(wire::Request::kBlas, message_));
  }
  message_.c.type = static_cast<uint32_t>(type);
  wire::BlasNumber number{};
  const cudaError_t error = Connection::get().ask(wire::Request::kBlas, message_, &number);
  if (error == cudaSuccess) write_number(result, type, number);
  return status_of(error);
}

}  // namespace vgpu::blas
