// A product of matrices, as every form of GEMM gives it.
#pragma once

#include "cublas/call.h"

namespace vgpu::blas {

struct Operand {
  const void* data;
  cudaDataType type;
  int64_t ld;
  int64_t stride = 0;  // between batches
};

struct ProductEpilogue {
  uint32_t what = 0;  // flags of wire::BlasEpilogue
  BlasMatrix bias{}, aux{};
};

struct Product {
  cublasOperation_t op_a, op_b;
  int64_t m, n, k;
  const void *alpha, *beta;
  Operand a, b, c;
  int64_t batches = 1;
  bool by_pointers = false;
  ProductEpilogue epilogue{};
};

cublasStatus_t gemm(const char* function, Handle handle, const Product& product, cublasComputeType_t compute);

}  // namespace vgpu::blas
