// A call of the drop-in cuBLAS as it travels to the engine, which computes it on device memory in the order
// of its stream. The library turns each function of the API into one of a few operations on views of memory.
#pragma once

#include <cstdint>

namespace vgpu::wire {

enum class BlasOp : uint32_t {
  kMultiply,       // c = alpha a b + beta c; a is m x k, b is k x n
  kSolve,          // a x = alpha b for x, which replaces b; a is m x m and triangular, b is m x n
  kCombine,        // c = alpha a + beta b, element by element
  kProduct,        // c = a b, element by element
  kSwap,           // a and b
  kRotate,         // a, b = alpha a + beta b, alpha b - conj(beta) a
  kDot,            // c = the sum of a b
  kNorm,           // c = the Euclidean norm of a
  kAbsoluteSum,    // c = the sum of |re| + |im| of a
  kLargestIndex,   // c = the place of the first largest |re| + |im|, counted from 1
  kSmallestIndex,  // the same of the smallest
  kCount,
};

// What kMultiply does with a sum before it becomes an element of c; several may be set.
enum BlasEpilogue : uint32_t {
  kAddBias = 1,        // one number for each row
  kStoreAux = 2,       // the sum, as it is before its function, into aux
  kRelu = 4,           // max(x, 0)
  kGelu = 8,           // x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
  kGeluGradient = 16,  // the sum times the slope of GELU at aux
};

enum BlasShape : uint32_t {
  kConjugated = 1,
  kPointers = 2,  // the address is of an array of addresses in device memory, one for each batch
  // Only one triangle is stored, or written. What is read from the other one:
  kUpper = 4,
  kLower = 8,
  kSymmetric = 16,   // the element mirrored
  kHermitian = 32,   // its conjugate
  kTriangular = 64,  // zero
  kUnitDiagonal = 128,
};

// Strides count elements. Types of elements are cudaDataType's numbers.
struct BlasMatrix {
  uint64_t address;
  int64_t row_stride, column_stride, batch_stride;
  uint32_t type, shape;
};

struct BlasScalar {
  uint64_t address;  // in device memory, or 0 for the values here
  double re, im;
};

struct Blas {
  BlasOp op;
  uint32_t compute;  // type of the accumulators: CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F, CUDA_R_32I
  uint32_t scale_type;  // of scalars in device memory
  uint32_t result_type;
  int64_t m, n, k, batches;
  BlasMatrix a, b, c;  // where c is one number: address 0 sends it with the reply, as a BlasNumber
  BlasScalar alpha, beta;
  uint32_t epilogue, pad;
  BlasMatrix bias, aux;  // as the epilogue uses them
  uint64_t stream;
  char function[40];  // of the API, for findings
};

struct BlasNumber {
  double re, im;
};

}  // namespace vgpu::wire
